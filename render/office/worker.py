# The half of an office engine that speaks UNO. It connects to the office
# program whose pipe is its only argument, says that it is ready, and then does
# one job for each line of standard input, until that ends.
#
# Jobs and answers are JSON objects, one a line. A job names its files by path.
# An answer has "kind", what was opened, or "error".
import json
import sys
import time

import uno
import unohelper
from com.sun.star.beans import PropertyValue
from com.sun.star.connection import NoConnectException
from com.sun.star.lang import DisposedException
from com.sun.star.task import XInteractionHandler

CONNECT_SECONDS = 60

# Columns of tables that bring no layout, in hundredths of a millimetre.
WIDEST_COLUMN = 9000
FITTED_COLUMNS = 256

KINDS = (
    ("com.sun.star.sheet.SpreadsheetDocument", "spreadsheet"),
    ("com.sun.star.presentation.PresentationDocument", "presentation"),
    ("com.sun.star.drawing.DrawingDocument", "presentation"),
    ("com.sun.star.text.GenericTextDocument", "document"),
)

# com.sun.star.document.MacroExecMode and UpdateDocMode. They count as short
# integers only.
NEVER_EXECUTE = uno.Any("short", 0)
NO_UPDATE = uno.Any("short", 0)


class JobFailed(Exception):
    def __init__(self, code, text=""):
        super().__init__(text)
        self.code = code


def connect(pipe):
    local = uno.getComponentContext()
    resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        try:
            return resolver.resolve("uno:pipe,name=%s;urp;StarOffice.ComponentContext" % pipe)
        except NoConnectException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


class Questions(unohelper.Base, XInteractionHandler):
    """Answers what the office would ask a person: with the password, once, and
    otherwise by giving up."""

    def __init__(self, password):
        self.password = password
        self.tried = False
        self.refused = None  # why the document stays closed

    def handle(self, request):
        # What is asked shows in the possible answers: the request itself is an
        # exception, which this bridge cannot hand over.
        password, abort = None, None
        for choice in request.getContinuations():
            names = {implemented.typeName for implemented in choice.getTypes()}
            if hasattr(choice, "setPassword"):
                password = choice
            elif "com.sun.star.task.XInteractionAbort" in names:
                abort = choice
        if password is not None and self.password and not self.tried:
            self.tried = True
            password.setPassword(self.password)
            password.select()
            return
        if password is not None:
            self.refused = "wrong_password" if self.tried else "password_required"
        if abort is not None:
            abort.select()


def properties(values):
    return tuple(PropertyValue(Name=name, Value=value) for name, value in values.items() if value is not None)


def load(desktop, job):
    questions = Questions(job.get("password"))
    values = {
        "Hidden": True,
        "MacroExecutionMode": NEVER_EXECUTE,
        "UpdateDocMode": NO_UPDATE,
        "InteractionHandler": questions,
        "FilterName": job.get("importFilter"),
        "FilterOptions": job.get("importOptions"),
    }
    try:
        document = desktop.loadComponentFromURL(uno.systemPathToFileUrl(job["input"]), "_blank", 0, properties(values))
    except DisposedException:
        raise
    except Exception as e:
        raise JobFailed(questions.refused or "damaged", str(e))
    if document is None:
        raise JobFailed(questions.refused or "damaged", "nothing was opened")
    return document


def kind_of(document):
    for service, kind in KINDS:
        if document.supportsService(service):
            return kind
    raise JobFailed("unknown", document.getImplementationName())


def fit_columns(document):
    """Gives a table without a layout of its own one that can be read."""
    styles = document.StyleFamilies.getByName("PageStyles")
    for sheet in document.Sheets:
        cursor = sheet.createCursor()
        cursor.gotoEndOfUsedArea(False)
        address = cursor.RangeAddress
        used = sheet.getCellRangeByPosition(0, 0, address.EndColumn, address.EndRow)
        used.Columns.OptimalWidth = True
        for number in range(min(address.EndColumn + 1, FITTED_COLUMNS)):
            column = used.Columns.getByIndex(number)
            if column.Width > WIDEST_COLUMN:
                column.Width = WIDEST_COLUMN
                column.IsTextWrapped = True
        used.Rows.OptimalHeight = True
        style = styles.getByName(sheet.PageStyle)
        style.HeaderIsOn = False
        style.FooterIsOn = False
        room = style.Width - style.LeftMargin - style.RightMargin
        if used.Size.Width > room and style.Height > style.Width:
            width, height = style.Height, style.Width
            style.IsLandscape = True
            style.Width, style.Height = width, height
        style.ScaleToPagesX, style.ScaleToPagesY = 1, 0


def convert(desktop, job):
    document = load(desktop, job)
    try:
        kind = kind_of(document)
        export = job["exportFilters"].get(kind)
        if export is None:
            return {"kind": kind, "error": "impossible"}
        if job.get("fitColumns"):
            fit_columns(document)
        values = {"FilterName": export, "FilterOptions": job.get("exportOptions"), "Overwrite": True}
        try:
            document.storeToURL(uno.systemPathToFileUrl(job["output"]), properties(values))
        except DisposedException:
            raise
        except Exception as e:
            raise JobFailed("damaged", str(e))
        return {"kind": kind}
    finally:
        document.close(True)


def say(answer):
    print(json.dumps(answer), flush=True)


def main():
    context = connect(sys.argv[1])
    desktop = context.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", context)
    say({"ready": True})
    for line in sys.stdin:
        try:
            say(convert(desktop, json.loads(line)))
        except JobFailed as e:
            say({"error": e.code, "text": str(e)[:1000]})


main()
