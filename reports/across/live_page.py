"""The page of a run that goes: an empty frame that its script fills with what the server tells. Pure."""

from reports.page.html import own_script, template


def page(title: str, index: str, archive: str) -> str:
    """The page's text.

    Args:
        title: what the run is called.
        index: where the page of the store is from here.
        archive: where the run can be had as one file from here.
    """
    text, css = template("live.html.j2")
    return text.render(title=title, index=index, archive=archive, css=css, js=own_script("live.js"))
