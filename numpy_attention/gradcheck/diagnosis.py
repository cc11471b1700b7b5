def diagnose(subject, report, upstream):
    return []
