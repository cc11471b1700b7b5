"""The plain pages of the course's site: where to begin, the interview, the pictures."""
from html import escape

from . import interview
from .lessons import lessons

STYLE = """:root { color-scheme: light dark }
body { font: 17px/1.6 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
h1 { line-height: 1.25 } a { text-underline-offset: .2em } table { border-collapse: collapse }
td { padding: .25rem .6rem .25rem 0; vertical-align: top } small { opacity: .75 }
img { max-width: 100%; background: #fff }
summary { cursor: pointer } pre { overflow: auto; font-size: 14px }"""


def document(title, body):
    """A whole page; it asks for nothing that is not in it or beside it."""
    return (f'<!doctype html>\n<html lang="zh"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">\n'
            f"<style>{STYLE}</style></head>\n<body><h1>{escape(title)}</h1>\n{body}\n</body></html>\n")


def start_page(numbers, elsewhere):
    """Where to begin: the lessons, and what else there is. Args: elsewhere: does the first visit ask another host?"""
    rows = "\n".join(
        f'<tr><td>{each.number}</td><td><a href="lite/lab/index.html?path={each.path.name}">{escape(each.title.zh)} · '
        f"{escape(each.title.en)}</a></td><td><small>{each.minutes} min</small></td></tr>"
        for each in lessons() if each.number in numbers)
    fetched = ("Python 本身来自 Pyodide 的服务器。 Python itself comes from Pyodide's host." if elsewhere
               else "全部来自本站。 All of it comes from this site.")
    return document("numpy_attention：浏览器里的课程 · the course in your browser", f"""
<p>不用安装：点开一课，Python 就在浏览器里运行。第一次要下载约 45 MB，之后很快。{fetched}</p>
<p>Nothing to install: open a lesson, and Python runs in your browser. The first visit downloads about 45 MB; later
visits are quick.</p>
<table>{rows}</table>
<ul><li><a href="attention.html">可以改数字的一页：我 爱 AI · the page where every number can be changed</a></li>
<li><a href="interview.html">面试问答 · the interview</a></li>
<li><a href="pictures.html">图 · the pictures</a></li></ul>
<p>你的修改保存在这个浏览器里。要交作业：在左边的文件列表上点右键，选 Download。
Your work is kept in this browser. To hand it in: right-click the notebook in the list of files, then Download.</p>
<p>浏览器里的 Python 只有一个线程：停不下来的循环要用菜单 Kernel → Restart 结束，检查之前会先看有没有这样的循环。
A browser's Python has one thread: a loop that never ends is stopped by Kernel → Restart, and a check looks for such a
loop before it runs your function. 第 15 课需要一个装不进浏览器的模型，那些单元会说明这一点。
Lesson 15 needs a trained model that is not part of this site; its cells say so.</p>""")


def interview_page():
    """All questions with folded answers."""
    parts = []
    for number, each in enumerate(interview.questions(), 1):
        answers = "".join(f"<p><b>{escape(label)}</b>: {'<br>'.join(map(escape, text))}</p>"
                          for label, text in each.parts())
        code = escape(each.proof.replace("; ", "\n"))
        parts.append(f"<h3>{number}. {'<br>'.join(map(escape, each.question))}</h3>\n<details><summary>答案 · answer"
                     f"</summary>{answers}<pre>{code}</pre></details>")
    return document("面试 · The interview", "\n".join(parts))


def pictures_page(pictures):
    """Every picture with what is to be seen on it. Args: pictures: {name: description}."""
    return document("图 · The pictures", "\n".join(
        f'<h3>{escape(name.replace("_", " "))}</h3>\n<p><img src="pictures/{name}.png" loading="lazy" '
        f'alt="{escape(alt, quote=True)}"></p>\n<p><small>{escape(alt)}</small></p>' for name, alt in pictures.items()))
