"""What sanitizers write when they find something."""
import re

REPORT = re.compile(r"ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer|runtime error: ")


def reports(name, text):
    """The first of them, under the log's name; none: an empty list."""
    found = REPORT.search(text)
    return [f"{name}: {text[found.start():][:3000]}"] if found else []
