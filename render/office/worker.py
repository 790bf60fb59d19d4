# The half of an office engine that speaks UNO. Its arguments are the pipe of the
# office program and the folder of the components. It connects to the program,
# says that it is ready, and then does one job for each line of standard input,
# until that ends.
#
# Jobs and answers are JSON objects, one a line. A job names its files by path.
# An answer has "kind", what was opened, or "error".
import json
import os
import re
import sys
import time

import uno
import unohelper
from com.sun.star.beans import NamedValue, PropertyValue
from com.sun.star.connection import NoConnectException
from com.sun.star.lang import DisposedException, Locale
from com.sun.star.style.BreakType import PAGE_BEFORE
from com.sun.star.table import CellRangeAddress
from com.sun.star.task import XInteractionHandler
from com.sun.star.text.TextContentAnchorType import AT_PARAGRAPH
from com.sun.star.text.WrapTextMode import THROUGH

CONNECT_SECONDS = 60

# Columns of tables that bring no layout, in hundredths of a millimetre.
WIDEST_COLUMN = 9000
FITTED_COLUMNS = 256

# com.sun.star.text.RelOrientation.PAGE_FRAME and ControlCharacter.PARAGRAPH_BREAK.
OF_THE_PAGE = 7
PARAGRAPH_BREAK = 0

# com.sun.star.sheet.FormulaResult.STRING and ERROR, and all results.
FORMULA_TEXT = 2
FORMULA_ERROR = 4
FORMULA_ANY = 7

# Fields whose results depend on the pages, and notes.
PAGE_FIELDS = tuple("com.sun.star.text.TextField." + name for name in ("PageNumber", "PageCount", "Annotation"))

# com.sun.star.text.FilenameDisplayFormat.
FULL_NAME = 0
PATH = 1
NAME_AND_EXTENSION = 3

# How many cells an answer describes.
DESCRIBED_CELLS = 3

# The export to Word fails now and then right after things have been moved, and
# does not the next time.
STORE_TRIES = 3

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
        # Word documents ask for their password only once.
        raise JobFailed(questions.refused or ("wrong_password" if questions.tried else "damaged"), "nothing was opened")
    return document


def kind_of(document):
    for service, kind in KINDS:
        if document.supportsService(service):
            return kind
    raise JobFailed("unknown", document.getImplementationName())


def format_numbers(document, columns):
    """Shows the numbers of a table as they are written."""
    sheet = document.Sheets.getByIndex(0)
    for column in columns:
        locale = Locale("de", "DE", "") if column["german"] else Locale("en", "US", "")
        key = document.NumberFormats.queryKey(column["code"], locale, False)
        if key < 0:
            key = document.NumberFormats.addNew(column["code"], locale)
        cells = sheet.Columns.getByIndex(column["column"])
        if column.get("rows"):
            cells = document.createInstance("com.sun.star.sheet.SheetCellRanges")
            places = (CellRangeAddress(0, column["column"], first, column["column"], last) for first, last in column["rows"])
            cells.addRangeAddresses(tuple(places), False)
        cells.NumberFormat = key


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


def choose_sheets(document, wanted):
    """Leaves those sheets that are named, or counted from 1, and in their order. Forms
    write numbers as text: one that is no name counts.
    What the others hold is still there for formulas: they are hidden, and hidden
    sheets are not printed."""
    sheets = document.Sheets
    names = sheets.ElementNames
    keep = set()
    for sheet in wanted:
        if isinstance(sheet, str) and sheet in names:
            keep.add(sheet)
        elif str(sheet).isdecimal() and 0 < int(sheet) <= len(names):
            keep.add(names[int(sheet) - 1])
        else:
            raise JobFailed("no_such_sheet", json.dumps({"sheet": sheet, "sheets": names}))
    for name in names:
        sheets.getByName(name).IsVisible = name in keep


def lay_out_sheets(document, job):
    """Turns the paper of a spreadsheet, and makes its columns fit."""
    styles = document.StyleFamilies.getByName("PageStyles")
    for name in {sheet.PageStyle for sheet in document.Sheets}:
        style = styles.getByName(name)
        if job.get("landscape") is not None and style.IsLandscape != job["landscape"]:
            width, height = style.Height, style.Width
            style.IsLandscape = job["landscape"]
            style.Width, style.Height = width, height
        if job.get("fitToWidth"):
            style.ScaleToPagesX, style.ScaleToPagesY = 1, 0


def turn_paper(document, landscape):
    """Turns the paper of all pages of a text."""
    styles = document.StyleFamilies.getByName("PageStyles")
    for style in styles:
        if style.isInUse() and style.IsLandscape != landscape:
            width, height = style.Height, style.Width
            style.IsLandscape = landscape
            style.Width, style.Height = width, height


def settle_changes(context, document, changes):
    """Shows the tracked changes of a text, or makes an end of them."""
    if changes == "shown":
        document.ShowChanges = True
        return
    command = {"accepted": ".uno:AcceptAllTrackedChanges", "rejected": ".uno:RejectAllTrackedChanges"}[changes]
    dispatcher = context.ServiceManager.createInstanceWithContext("com.sun.star.frame.DispatchHelper", context)
    # What a document protects is not what it has changed.
    document.RecordChanges = False
    dispatcher.executeDispatch(document.CurrentController.Frame, command, "", 0, ())


class Papers:
    """The page styles of a document by their size, a width and a height. The size
    of the first page is that of the style that all pages have."""

    def __init__(self, document, first):
        self.document = document
        self.styles = document.StyleFamilies.getByName("PageStyles")
        self.standard = self.styles.getByName("Standard")
        self.names = {tuple(first): "Standard"}
        self.cut(self.standard, first)

    def cut(self, style, size):
        style.IsLandscape = size[0] > size[1]
        style.Width, style.Height = size

    def name_of(self, size):
        """The name of the style whose pages have a size, which is made when there is none."""
        name = self.names.get(tuple(size))
        if name is None:
            name = self.names[tuple(size)] = "Paper %d" % len(self.names)
            style = self.document.createInstance("com.sun.star.style.PageStyle")
            self.styles.insertByName(name, style)
            self.cut(style, size)
            for margin in ("LeftMargin", "RightMargin", "TopMargin", "BottomMargin"):
                setattr(style, margin, getattr(self.standard, margin))
        return name


def keep_pages(document, sizes):
    """Gives each page a paragraph of its own, and anchors what stands on the page
    there. Word knows nothing that is anchored at a page: all of it would lie on
    the first one. Texts come before the rest, which would cover them."""
    papers = Papers(document, sizes[0]) if sizes else None
    shapes = list(document.DrawPage)
    names = ("AnchorPageNo", "HoriOrientPosition", "VertOrientPosition")
    places = [shape.getPropertyValues(names) for shape in shapes]
    text = document.Text
    text.setString("")  # newer offices break pages themselves
    cursor = text.createTextCursorByRange(text.End)
    for page in range(1, max((page for page, _, _ in places), default=1)):
        text.insertControlCharacter(cursor, PARAGRAPH_BREAK, False)
        cursor.gotoEnd(False)
        if page < len(sizes) and sizes[page] != sizes[page - 1]:
            cursor.PageDescName = papers.name_of(sizes[page])
        else:
            cursor.BreakType = PAGE_BEFORE
    anchors = [paragraph.Anchor for paragraph in text]
    for shape, (page, left, top) in zip(shapes, places):
        shape.AnchorType = AT_PARAGRAPH
        shape.attach(anchors[max(page, 1) - 1])
        moved = {
            "HoriOrientPosition": left,
            "HoriOrientRelation": OF_THE_PAGE,
            "Opaque": bool(getattr(shape, "String", "")),
            "TextWrap": THROUGH,
            "VertOrientPosition": top,
            "VertOrientRelation": OF_THE_PAGE,
        }
        shape.setPropertyValues(tuple(moved), tuple(moved.values()))
    document.refresh()


class Cells:
    """The formulas of a spreadsheet, and the results that its file has stored."""

    def __init__(self, document, path, formulas):
        self.document = document
        folder, name = os.path.split(path)
        self.folder = uno.systemPathToFileUrl(folder) + "/"
        self.file = "(%s|%s)" % (re.escape(name), re.escape(uno.systemPathToFileUrl(path)[len(self.folder):]))
        self.name = "[%s]" % name
        self.unknown = {sheet: set(refs) for sheet, refs in (formulas["Unknown"] or {}).items()}
        self.stored = {}
        for entry in formulas["Stored"] or ():
            value = {"n": float, "s": str, "b": lambda text: text == "1"}[entry["kind"]](entry["value"])
            self.stored.setdefault(entry["sheet"], {})[entry["ref"]] = value
        self.failed, self.kept, self.changed = CellList(), CellList(), CellList()

    def settle(self, recalculated):
        """Puts the stored results in place of errors, and of other results unless all
        were to be calculated."""
        while self.restore_errors(recalculated, after_others=False) or self.restore_errors(recalculated, after_others=True):
            pass
        for sheet in self.document.Sheets:
            if sheet.Name in self.stored:
                self.compare(sheet, self.stored[sheet.Name], recalculated)
            unknown = self.unknown.get(sheet.Name)
            for ref in self.errors(sheet) if unknown else ():
                if ref in unknown:
                    self.failed.add(sheet, ref, lambda: sheet.getCellRangeByName(ref).String)
            if unknown or recalculated:
                self.hide_path(sheet)

    def hide_path(self, sheet):
        """Formulas see the name of the file, but not where it is on this machine."""
        for area in sheet.queryFormulaCells(FORMULA_TEXT):
            for row, values in enumerate(area.DataArray):
                for column, value in enumerate(values):
                    if isinstance(value, str) and self.folder in value:
                        before, _, after = value.partition(self.folder)
                        after = re.sub(r"^\[?%s\]?'?(#\$)?" % self.file, "", after)
                        put(area.getCellByPosition(column, row), before.rstrip("'") + self.name + after)

    def errors(self, sheet):
        for area in sheet.queryFormulaCells(FORMULA_ERROR).RangeAddresses:
            for column in range(area.StartColumn, area.EndColumn + 1):
                for row in range(area.StartRow, area.EndRow + 1):
                    yield ref_of(column, row)

    def restore_errors(self, recalculated, after_others):
        """Formulas that only take an error from others have a result once that is gone."""
        restored = False
        for sheet in self.document.Sheets:
            values = self.stored.get(sheet.Name)
            for ref in list(self.errors(sheet)) if values else ():
                cell = sheet.getCellRangeByName(ref)
                if ref not in values or not cell.getError():
                    continue
                if not after_others and cell.queryPrecedents(False).queryFormulaCells(FORMULA_ERROR).Count:
                    continue
                if recalculated:
                    self.kept.add(sheet, ref, lambda: cell.String)
                put(cell, values.pop(ref))
                restored = True
        return restored

    def compare(self, sheet, values, recalculated):
        cursor = sheet.createCursor()
        cursor.gotoEndOfUsedArea(False)
        end = cursor.RangeAddress
        data = sheet.getCellRangeByPosition(0, 0, end.EndColumn, end.EndRow).DataArray
        for ref, value in values.items():
            column, row = position_of(ref)
            if row > end.EndRow or column > end.EndColumn or same(data[row][column], value):
                continue
            if recalculated:
                self.changed.add(sheet, ref, lambda: "%s instead of %s" % (shown(data[row][column]), shown(value)))
            else:
                put(sheet.getCellRangeByName(ref), value)

    def report(self):
        return {"failed": self.failed.report(), "kept": self.kept.report(), "changed": self.changed.report()}


class CellList:
    """A number of cells, and descriptions of the first of them."""

    def __init__(self):
        self.count, self.first = 0, []

    def add(self, sheet, ref, describe):
        self.count += 1
        if len(self.first) < DESCRIBED_CELLS:
            self.first.append(("%s!%s (%s)" % (sheet.Name, ref, describe()[:60]))[:100])

    def report(self):
        return {"count": self.count, "first": self.first}


def put(cell, value):
    if isinstance(value, str):
        cell.String = value
    elif isinstance(value, bool):
        cell.Formula = "=TRUE()" if value else "=FALSE()"
    else:
        cell.Value = value


def same(a, b):
    if not isinstance(a, str) and not isinstance(b, str):
        return abs(a - b) <= 1e-9 * max(1, abs(a), abs(b))
    return a == b


def shown(value):
    return value if isinstance(value, str) else "%.15g" % value


def ref_of(column, row):
    letters = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters + str(row + 1)


def position_of(ref):
    letters = ref.rstrip("0123456789")
    column = 0
    for letter in letters:
        column = column * 26 + ord(letter) - ord("A") + 1
    return column - 1, int(ref[len(letters):]) - 1


def settle_cells(document, job):
    """Calculates what is to be calculated, and reports on it."""
    if job.get("recalculate"):
        document.calculateAll()
    if not job.get("formulas"):
        return None
    with open(job["formulas"], encoding="utf-8") as file:
        cells = Cells(document, job["input"], json.load(file))
    cells.settle(bool(job.get("recalculate")))
    return cells.report()


def count_results(document, kind):
    """The number of formulas, or of fields that do not belong to the pages."""
    if kind == "spreadsheet":
        return sum(
            (area.EndColumn - area.StartColumn + 1) * (area.EndRow - area.StartRow + 1)
            for sheet in document.Sheets
            for area in sheet.queryFormulaCells(FORMULA_ANY).RangeAddresses
        )
    fields = document.TextFields if kind == "document" else ()
    return sum(not any(map(field.supportsService, PAGE_FIELDS)) for field in fields)


def hide_paths(document):
    """Fields see the name of the file, but not where it is on this machine."""
    fields = document.TextFields
    for field in fields:
        if field.supportsService("com.sun.star.text.TextField.FileName") and field.FileFormat in (FULL_NAME, PATH):
            field.FileFormat = NAME_AND_EXTENSION
    fields.refresh()


def component(context, name, file, **arguments):
    """The result of a component of a file, which runs in the office's process."""
    loader = context.ServiceManager.createInstanceWithContext("com.sun.star.loader.Python", context)
    factory = loader.activate(name, "", uno.systemPathToFileUrl(os.path.join(sys.argv[2], file)), None)
    return factory.createInstanceWithContext(context).execute(tuple(map(NamedValue, *zip(*arguments.items()))))


def place_letters(context, document, kind, fallbacks):
    """Gives letters the fonts that have them (fallback.py). It reports whether all have
    got theirs."""
    return component(context, "relaypdf.Placement", "fallback.py", document=document, kind=kind, fallbacks=json.dumps(fallbacks))


def store(document, job, values):
    for tries_left in reversed(range(STORE_TRIES)):
        try:
            document.storeToURL(uno.systemPathToFileUrl(job["output"]), properties(values))
            return
        except DisposedException:
            raise
        except Exception as e:
            if not job.get("keepPages") or not tries_left:
                raise JobFailed("damaged", str(e))


def convert(context, desktop, job):
    document = load(desktop, job)
    try:
        kind = kind_of(document)
        export = job["exportFilters"].get(kind)
        if export is None:
            return {"kind": kind, "error": "impossible"}
        if job.get("numbers"):
            format_numbers(document, job["numbers"])
        if job.get("fitColumns"):
            fit_columns(document)
        if job.get("keepPages"):
            keep_pages(document, job.get("pageSizes", []))
        if job.get("sheets") and kind != "spreadsheet":
            raise JobFailed("no_such_sheet", json.dumps({"sheet": job["sheets"][0], "sheets": []}))
        answer = {"kind": kind}
        if job.get("unread"):
            answer["unread"] = count_results(document, kind)
        if kind == "spreadsheet":
            answer["cells"] = settle_cells(document, job)
            if job.get("sheets"):
                choose_sheets(document, job["sheets"])
            lay_out_sheets(document, job)
        if kind == "document":
            hide_paths(document)
        if kind == "document" and job.get("landscape") is not None:
            turn_paper(document, job["landscape"])
        if kind == "document" and job.get("changes"):
            settle_changes(context, document, job["changes"])
        if job.get("fontNames"):
            available = json.dumps(job.get("availableFonts") or [])
            fonts = component(context, "relaypdf.MissingFonts", "font_names.py", document=document, kind=kind, available=available)
            answer["missingFonts"], answer["styleFonts"] = fonts
        if job.get("fallbacks"):
            answer["unplaced"] = not place_letters(context, document, kind, job["fallbacks"])
        values = {"FilterName": export, "FilterOptions": job.get("exportOptions"), "Overwrite": True}
        if job.get("filterData"):
            values["FilterData"] = uno.Any("[]com.sun.star.beans.PropertyValue", properties(job["filterData"]))
        if job.get("output"):
            store(document, job, values)
        return answer
    finally:
        document.close(True)


def say(answer):
    print(json.dumps(answer), flush=True)


def main():
    context = connect(sys.argv[1])
    desktop = context.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", context)
    say({"ready": True})
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer = convert(context, desktop, job)
        except JobFailed as e:
            answer = {"error": e.code, "text": str(e)[:1000]}
        say(dict(answer, id=job["id"]))


main()
