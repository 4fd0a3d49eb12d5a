"""The colours of the book, from docs/toys/colours.css: LIGHT and DARK are the declarations of its rules."""
import re

from programs import ROOT

LIGHT, DARK = (
    " ".join(rule.split()).rstrip(";")
    for rule in re.findall(r"\{([^}]*)\}", (ROOT / "docs/toys/colours.css").read_text())
)
# Of the site's pages, whose theme Furo has in <body>.
OF_SITE = f"""body {{ {LIGHT} }}
body[data-theme="dark"] {{ {DARK} }}
@media (prefers-color-scheme: dark) {{ body:not([data-theme="light"]) {{ {DARK} }} }}
"""
