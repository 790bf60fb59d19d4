# The names of the fonts that the text of a document has, and that are no fonts
# here: LibreOffice draws such text in others and says nothing.
#
# A file lists more fonts than its text has. So the text itself is asked, as far
# as it is printed.
#
# LibreOffice loads this as a component, which runs in its process (fallback.py).
import json
import sys
import time
import traceback

import unohelper

from com.sun.star.beans.PropertyState import DEFAULT_VALUE
from com.sun.star.i18n.ScriptType import ASIAN, COMPLEX, LATIN, WEAK
from com.sun.star.task import XJob

# How long this may take: the text after that is not asked.
NAMES_SECONDS = 2

# How many names are of interest, and how many characters of one.
MOST_NAMES = 20
LONGEST_NAME = 100

# Fonts by the kind of a script, and whether a text is hidden.
FONTS = {LATIN: "CharFontName", ASIAN: "CharFontNameAsian", COMPLEX: "CharFontNameComplex"}
PROPERTIES = tuple(FONTS.values()) + ("CharHidden",)
PLACES = {script: place for place, script in enumerate(FONTS)}
HIDDEN = len(FONTS)

# The parts of headers and footers.
AREAS = ("HeaderText", "HeaderTextFirst", "HeaderTextLeft", "FooterText", "FooterTextFirst", "FooterTextLeft")
SHEET_AREAS = ("RightPageHeaderContent", "LeftPageHeaderContent", "FirstPageHeaderContent",
               "RightPageFooterContent", "LeftPageFooterContent", "FirstPageFooterContent")
THIRDS = ("LeftText", "CenterText", "RightText")

# The texts of charts and their diagrams, each with the property that says whether it is shown.
CHART_TEXTS = (("HasMainTitle", "Title"), ("HasSubTitle", "SubTitle"), ("HasLegend", "Legend")) + tuple(
    ("Has" + name + part, name + part)
    for name in ("XAxis", "YAxis", "ZAxis", "SecondaryXAxis", "SecondaryYAxis")
    for part in ("", "Title")
)

# What the label at a point of a chart may show.
LABEL_PARTS = ("ShowNumber", "ShowNumberInPercent", "ShowCategoryName", "ShowSeriesName", "ShowCustomLabel")

# com.sun.star.style.NumberingType: no number, a bullet, an image.
NO_NUMBER = 5
BULLET = 6
IMAGE = 8

# How many lists are asked for their fonts in advance.
ASKED_LISTS = 50

# The bullets that LibreOffice draws with OpenSymbol as the missing font has them. Others become boxes, or other bullets.
SYMBOL_BULLETS = {
    "wingdings": set("lmnopqrstuvw") | set(map(chr, (0xA1, 0xA7, 0xA8, 0xAB, 0xD8, *range(0xDF, 0xF0), *range(0xF0, 0xF9), *range(0xFB, 0xFF)))),
    "wingdings 2": {chr(0x97), chr(0xA2), chr(0xA3)},
    "wingdings 3": {"}"},
}

# com.sun.star.sheet.CellFlags: numbers, dates, texts and formulas; and texts with several formats.
TEXTS = 4 | 16
CONTENT = 1 | 2 | TEXTS
FORMATTED = 512

# How many rows of cells are asked for the scripts of their texts.
ASKED_ROWS = 500

# Letters of scripts that are not Latin, Greek or Cyrillic.
OTHER_LETTERS = r"[\u0590-\u1dff\u2e80-\ud7ff\uf900-\ufdff\ufe70-\uffef\U00010000-\U0001cfff\U00020000-\U0003ffff]"


class Enough(Exception):
    pass


def has_own(style, name):
    """Whether a style has a value of its own of a property."""
    return style.getPropertyState(name) != DEFAULT_VALUE


def column_names(data):
    return getattr(data, "ColumnDescriptions", ())


def row_names(data):
    return getattr(data, "RowDescriptions", ())


class FontNames:
    def __init__(self, context, available):
        create = context.ServiceManager.createInstanceWithContext
        device = create("com.sun.star.awt.Toolkit", context).createScreenCompatibleDevice(1, 1)
        self.available = {descriptor.Name.lower() for descriptor in device.getFontDescriptors()}
        self.available.update(map(str.lower, available))
        self.breaks = create("com.sun.star.i18n.BreakIterator", context)
        self.deadline = time.monotonic() + NAMES_SECONDS
        self.known = {}  # what alternatives returned
        self.missing = {}  # in the order of the text
        self.document = None
        self.wanted = None  # the fonts that the text may have, if this is known

    def alternatives(self, names):
        """The names of a font, if it is missing: a list may have several, with ; between them."""
        if names not in self.known:
            several = [name.strip().lstrip("@") for name in (names or "").split(";")]
            several = [name for name in several if name]
            lacks = not any(name.lower() in self.available for name in several)
            self.known[names] = ";".join(several)[:LONGEST_NAME] if lacks else ""
        return self.known[names]

    def note(self, names):
        """Notes the font of a text."""
        missing = self.alternatives(names)
        if not missing or missing in self.missing:
            return
        self.missing[missing] = True
        if len(self.missing) >= MOST_NAMES or self.wanted is not None and self.wanted <= self.missing.keys():
            raise Enough()

    def scripts(self, content, before=LATIN):
        """The kinds of the scripts of a text. Without letters it has that of the text before it."""
        if content.isascii():
            return {LATIN} if any(map(str.isalpha, content)) else {before}
        found, at, units = set(), 0, content.encode("utf-16-le")
        while 2 * at < len(units):
            kind = self.breaks.getScriptType(content, at)
            end = max(at + 1, self.breaks.endOfScript(content, at, kind))
            if any(map(str.isalpha, units[2 * at : 2 * end].decode("utf-16-le", "replace"))):
                found.add(kind)
            at = end
        found.discard(WEAK)
        return found or {before}

    def flow(self, text):
        """Notes the fonts of paragraphs and of tables between these."""
        for item in text:
            if time.monotonic() > self.deadline:
                raise Enough()
            if item.supportsService("com.sun.star.text.TextTable"):
                for name in item.CellNames:
                    self.flow(item.getCellByName(name))
            else:
                self.paragraph(item)

    def paragraph(self, paragraph):
        self.label(paragraph)
        before = LATIN
        for portion in paragraph:
            content = portion.String
            if not content and portion.TextPortionType == "TextField":
                content = "1"  # the number of a page
            if not content or content.isspace():
                continue
            values = portion.getPropertyValues(PROPERTIES)
            if values[HIDDEN]:
                continue
            scripts = self.scripts(content, before)
            for script in scripts:
                self.note(values[PLACES[script]])
            if len(scripts) == 1:
                before, = scripts

    def label(self, paragraph):
        """Notes the font of the bullet or the number before a paragraph."""
        if not getattr(paragraph, "NumberingIsNumber", False) or getattr(paragraph, "CharHidden", False):
            return
        rules, level = (getattr(paragraph, name, None) for name in ("NumberingRules", "NumberingLevel"))
        number = getattr(paragraph, "ListLabelString", None)  # only texts have it
        if rules is None or level is None or level < 0 or number is None and not paragraph.String:
            return
        values = {value.Name: value.Value for value in rules.getByIndex(level)}
        kind = values.get("NumberingType")
        if kind == BULLET:
            self.bullet(values)
        elif number and kind not in (NO_NUMBER, IMAGE):
            style = self.number_style(values)
            automatic = {value.Name: value.Value for value in getattr(paragraph, "ListAutoFormat", None) or ()}
            for script in self.scripts(number):
                name = FONTS[script]
                self.note(getattr(style, name) if style and has_own(style, name) else automatic.get(name) or getattr(paragraph, name))

    def bullet(self, values):
        """Notes the font of a bullet."""
        font, char = values.get("BulletFont"), (values.get("BulletChar") or "")[:1]
        if font is None or not char or char.isspace() or font.Name.isdecimal():
            return  # RTF of LibreOffice has numbers of fonts that it lacks.
        known = SYMBOL_BULLETS.get(font.Name.lower(), ())
        code = ord(char)
        if chr(code & 0xFF if 0xF000 <= code <= 0xF0FF else code) not in known or "opensymbol" not in self.available:
            self.note(font.Name)

    def number_style(self, values):
        """The style of the numbers of a list, or None."""
        styles = self.document.StyleFamilies.getByName("CharacterStyles")
        name = values.get("CharStyleName")
        return styles.getByName(name) if name and styles.hasByName(name) else None

    def areas(self, style):
        for name in AREAS:
            text = getattr(style, name, None)
            if text is not None:
                self.flow(text)

    def styled(self, document):
        """The missing fonts that the styles of the text have, or None if shapes and charts may have others."""
        if document.DrawPage.Count or document.EmbeddedObjects.Count:
            return None
        search = document.createSearchDescriptor()
        search.SearchRegularExpression = True
        search.SearchString = OTHER_LETTERS
        scripts = FONTS.values() if document.findFirst(search) else (FONTS[LATIN],)

        lists = document.NumberingRules
        if lists.Count > ASKED_LISTS:
            return None

        names = set()
        for rules in (document.ChapterNumberingRules, *map(lists.getByIndex, range(lists.Count))):
            for level in range(rules.Count):
                values = {value.Name: value.Value for value in rules.getByIndex(level)}
                if values.get("BulletFont") is not None:
                    names.add(values["BulletFont"].Name)
                style = self.number_style(values)
                if style:
                    names.update(style.getPropertyValues(tuple(scripts)))
        for family in map(document.AutoStyles.getByName, ("ParagraphStyles", "CharacterStyles")):
            for style in family:
                names.update(value.Value for value in style.getProperties() if value.Name in scripts)
        for family in map(document.StyleFamilies.getByName, ("ParagraphStyles", "CharacterStyles")):
            for style in family:
                if style.isInUse():
                    names.update(style.getPropertyValues(tuple(scripts)))
        return {self.alternatives(name) for name in names} - {""}

    def text_document(self, document):
        self.document = document
        self.wanted = self.styled(document)
        if self.wanted is not None and not self.wanted:
            return
        self.flow(document.Text)
        for container in (document.TextFrames, document.Footnotes, document.Endnotes):
            for text in container:
                self.flow(text)
        for style in document.StyleFamilies.getByName("PageStyles"):
            if style.isInUse():
                self.areas(style)
        self.shapes(document.DrawPage)
        for embedded in document.EmbeddedObjects:
            self.chart(embedded.getEmbeddedObject())

    def shapes(self, container, of_master=False):
        for shape in container:
            kind = shape.ShapeType
            if not getattr(shape, "Visible", True) or getattr(shape, "IsEmptyPresentationObject", False):
                continue
            if of_master and kind.startswith("com.sun.star.presentation."):
                continue  # a place for the content of slides
            if shape.supportsService("com.sun.star.drawing.GroupShape"):
                self.shapes(shape, of_master)
            elif shape.supportsService("com.sun.star.drawing.TableShape"):
                table = shape.Model
                for row in range(table.RowCount):
                    for column in range(table.ColumnCount):
                        self.flow(table.getCellByPosition(column, row))
            elif kind.endswith(("OLE2Shape", "ChartShape")):
                self.chart(shape.Model)
            elif hasattr(shape, "createTextCursor") and not shape.supportsService("com.sun.star.text.BaseFrame"):
                self.flow(shape)

    def chart(self, chart):
        """Notes the fonts of a chart: its titles, its legend, its axes and the labels at its points."""
        if chart is None or not chart.supportsService("com.sun.star.chart.ChartDocument"):
            return
        names, categories = (" ".join(texts(chart.Data)) for texts in (column_names, row_names))
        for owner in (chart, chart.Diagram):
            for has, name in CHART_TEXTS:
                if getattr(owner, has, False):
                    place = getattr(owner, name)
                    if getattr(place, "DisplayLabels", True):
                        self.some(place, getattr(place, "String", None) or {"Legend": names, "XAxis": categories}.get(name, ""))
        for system in chart.getFirstDiagram().getCoordinateSystems():
            for kind in system.getChartTypes():
                for series in kind.getDataSeries():
                    self.point(series, names + categories)
                    for index in getattr(series, "AttributedDataPoints", None) or ():
                        self.point(series.getDataPointByIndex(index), names + categories)

    def point(self, point, content):
        """Notes the fonts of the labels at points of a chart."""
        label = point.Label
        if label is None or not any(getattr(label, part, False) for part in LABEL_PARTS):
            return
        fields = (getattr(point, "CustomLabelFields", None) or ()) if getattr(label, "ShowCustomLabel", False) else ()
        for field in fields:
            self.some(field, field.getString())
        if not fields:
            self.some(point, content if label.ShowCategoryName or getattr(label, "ShowSeriesName", False) else "")

    def some(self, place, content):
        """Notes the fonts of a text that has the same everywhere."""
        for script in self.scripts(content):
            self.note(getattr(place, FONTS[script], None))

    def sheet(self, sheet):
        cursor = sheet.createCursor()
        cursor.gotoEndOfUsedArea(False)
        end = cursor.RangeAddress
        used = sheet.getCellRangeByPosition(0, 0, end.EndColumn, end.EndRow)
        for cells in used.UniqueCellFormatRanges:
            if time.monotonic() > self.deadline:
                raise Enough()
            missing = {self.alternatives(getattr(cells, name)) for name in FONTS.values()} - {""}
            if missing and cells.queryContentCells(CONTENT).Count:
                self.some(cells, " ".join(self.texts(cells)))
        for area in used.queryContentCells(FORMATTED):
            address = area.RangeAddress
            for row in range(address.EndRow - address.StartRow + 1):
                for column in range(address.EndColumn - address.StartColumn + 1):
                    self.flow(area.getCellByPosition(column, row))
        self.shapes(sheet.DrawPage)

    def texts(self, cells):
        """The texts of the first rows of cells."""
        for area in cells.queryContentCells(TEXTS):
            address = area.RangeAddress
            last = min(address.EndRow - address.StartRow, ASKED_ROWS - 1)
            rows = area.getCellRangeByPosition(0, 0, address.EndColumn - address.StartColumn, last)
            for row in rows.DataArray:
                yield from (value for value in row if isinstance(value, str))
            if last == ASKED_ROWS - 1:
                return

    def headers(self, style):
        for name in SHEET_AREAS:
            if getattr(style, "HeaderIsOn" if "Header" in name else "FooterIsOn"):
                content = getattr(style, name, None)
                for third in THIRDS if content is not None else ():
                    self.flow(getattr(content, third))

    def spreadsheet(self, document):
        sheets = [sheet for sheet in document.Sheets if sheet.IsVisible]
        styles = document.StyleFamilies.getByName("PageStyles")
        for sheet in sheets:
            self.sheet(sheet)
        for name in {sheet.PageStyle for sheet in sheets}:
            self.headers(styles.getByName(name))

    def presentation(self, document):
        masters = {}
        for page in document.DrawPages:
            if not getattr(page, "Visible", True):
                continue
            self.shapes(page)
            if getattr(page, "IsBackgroundObjectsVisible", True):
                masters[page.MasterPage.Name] = page.MasterPage
        for master in masters.values():
            self.shapes(master, of_master=True)


class MissingFonts(unohelper.Base, XJob):
    """Finds the names of missing fonts."""

    def __init__(self, context):
        self.context = context

    def execute(self, arguments):
        """Returns the names that the text has, and those that its styles have."""
        values = {argument.Name: argument.Value for argument in arguments}
        names = FontNames(self.context, json.loads(values["available"]))
        look = {"document": names.text_document, "spreadsheet": names.spreadsheet, "presentation": names.presentation}
        try:
            look[values["kind"]](values["document"])
        except Enough:
            pass
        except Exception:
            # A document that cannot be asked can be printed all the same.
            traceback.print_exc(file=sys.stderr)
        return tuple(names.missing), tuple(names.wanted or ())[:MOST_NAMES]


g_ImplementationHelper = unohelper.ImplementationHelper()
g_ImplementationHelper.addImplementation(MissingFonts, "relaypdf.MissingFonts", ("com.sun.star.task.Job",))
