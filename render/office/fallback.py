# Fonts for letters that the fonts of a document lack.
#
# LibreOffice looks for such fonts by itself. Where a line needs two or more, it
# loses letters and draws others over each other (7.4 and 25.2 do, and 26.8). So
# they get their fonts here, before there are pages.
#
# LibreOffice loads this as a component, which runs in its process: a call from
# another process takes a hundred times as long.
import json
import re
import time

import unohelper

from com.sun.star.awt import FontDescriptor
from com.sun.star.table.CellContentType import TEXT
from com.sun.star.task import XJob

# How long this may take: a document with more of such letters keeps the rest.
FALLBACK_SECONDS = 20

# Letters of one line are not further apart than this.
LINE = 200

# Fonts of Western, complex and Asian letters. Letters without a script, such as
# arrows, have that of the letters before them.
FONTS = ("CharFontName", "CharFontNameComplex", "CharFontNameAsian")

# An emoji, and what may follow it in a sequence.
TAIL = "(?:[%s\u200d\u20e3\U000e0020-\U000e007f]|.\ufe0f)*"
EMOJI = "(?:[%s]|.\ufe0f)%s"

# The longest step of a cursor.
STEP = 30000


class OutOfTime(Exception):
    pass


class Fallbacks:
    """The fonts for letters, by groups as fallback.go has them."""

    def __init__(self, context, groups):
        toolkit = context.ServiceManager.createInstanceWithContext("com.sun.star.awt.Toolkit", context)
        self.device = toolkit.createScreenCompatibleDevice(1, 1)
        self.deadline = time.monotonic() + FALLBACK_SECONDS
        self.letters = {}  # whether a font has a letter
        self.groups = []
        for group in groups:
            pattern = "[%s]+" % group["class"]
            if group["emoji"]:
                pattern = EMOJI % (group["class"], TAIL % group["class"])
            self.groups.append(dict(group, pattern=pattern, compiled=re.compile(pattern)))
        self.any = re.compile("[%s]" % class_of(self.groups))

    def has(self, font, letters):
        """Whether a font has all letters."""
        known = self.letters.setdefault(font, {})
        unknown = [letter for letter in set(letters) if letter not in known]
        if unknown:
            descriptor = FontDescriptor()
            descriptor.Name = font
            device_font = self.device.getFont(descriptor)
            if device_font.hasGlyphs("".join(unknown)):
                known.update(dict.fromkeys(unknown, True))
            else:
                known.update((letter, device_font.hasGlyphs(letter)) for letter in unknown)
        return all(known[letter] for letter in set(letters))

    def give(self, place, group, letters):
        """Gives letters at a place their font, if the place has none."""
        if time.monotonic() > self.deadline:
            raise OutOfTime()
        for name in FONTS:
            if group["complex"] and name != "CharFontNameComplex":
                continue
            font = getattr(place, name, None)
            if group["emoji"] or not font or not self.has(font, letters):
                setattr(place, name, group["family"])

    def groups_of(self, searchable):
        """The groups that the text of a document or a sheet has, each with the letters of the others."""
        remaining, found = list(self.groups), []
        descriptor = descriptor_of(searchable)
        while remaining:
            descriptor.SearchString = "[%s]" % class_of(remaining)
            place = searchable.findFirst(descriptor)
            here = [group for group in remaining if place is not None and group["compiled"].search(place.String)]
            if not here:
                break
            found += here
            remaining = [group for group in remaining if group not in here]
        found.sort(key=lambda group: group["emoji"])
        return [(group, class_of(other for other in found if other is not group or group["symbols"])) for group in found]

    def search(self, document):
        """Gives fonts to a text document, except for its shapes."""
        descriptor = descriptor_of(document)
        for group, others in self.groups_of(document):
            if not group["family"] or not others and not group["emoji"]:
                continue
            descriptor.SearchString = beside(group, others)
            places = document.findAll(descriptor)
            for number in range(places.Count if places else 0):
                place = places.getByIndex(number)
                self.give(place, group, place.String)

    def text(self, text):
        """Gives fonts to the text of a shape or a cell."""
        content = text.String
        if not self.any.search(content):
            return
        found = [group for group in self.groups if group["compiled"].search(content)]
        if len(found) < 2 and "\ufe0f" not in content:
            symbols = [group["class"] for group in found if group["symbols"]]
            if not symbols or len(set(re.findall("[%s]" % symbols[0], content))) < 2:
                return
        for group in found:
            if not group["family"]:
                continue
            for match in group["compiled"].finditer(content):
                cursor = text.createTextCursor()
                cursor.gotoStart(False)
                advance(cursor, content[: match.start()], False)
                advance(cursor, match.group(), True)
                self.give(cursor, group, match.group())

    def shapes(self, container):
        for shape in container:
            if shape.supportsService("com.sun.star.drawing.GroupShape"):
                self.shapes(shape)
            elif shape.supportsService("com.sun.star.drawing.TableShape"):
                table = shape.Model
                for row in range(table.RowCount):
                    for column in range(table.ColumnCount):
                        self.text(table.getCellByPosition(column, row))
            elif hasattr(shape, "createTextCursor") and not shape.supportsService("com.sun.star.text.BaseFrame"):
                self.text(shape)

    def cells(self, sheet):
        """Gives fonts to the cells of a sheet that have letters of two groups."""
        descriptor = descriptor_of(sheet)
        for group, others in self.groups_of(sheet):
            if not group["family"] or not others and not group["emoji"]:
                continue
            descriptor.SearchString = beside(group, others)
            for found in sheet.findAll(descriptor) or ():
                address = found.RangeAddress
                for row in range(address.EndRow - address.StartRow + 1):
                    for column in range(address.EndColumn - address.StartColumn + 1):
                        cell = found.getCellByPosition(column, row)
                        if cell.Type == TEXT:
                            self.text(cell)


def class_of(groups):
    return "".join(group["class"] for group in groups)


def beside(group, others):
    """The pattern of letters with others in their line, and of emoji that \ufe0f makes."""
    own = group["pattern"]
    patterns = ["%s(?=.{0,%d}[%s])|(?<=[%s].{0,%d})%s" % (own, LINE, others, others, LINE, own)] if others else []
    if group["emoji"]:
        patterns.append("[%s\u200d]*.\ufe0f%s" % (group["class"], TAIL % group["class"]))
    return "|".join(patterns)


def descriptor_of(searchable):
    descriptor = searchable.createSearchDescriptor()
    descriptor.SearchRegularExpression = True
    descriptor.SearchCaseSensitive = True
    return descriptor


def advance(cursor, text, expand):
    """Moves a cursor over a text, in units of UTF-16."""
    units = len(text.encode("utf-16-le")) // 2
    while units > 0:
        cursor.goRight(min(units, STEP), expand)
        units -= STEP


class Placement(unohelper.Base, XJob):
    """Gives the letters of a document the fonts that have them."""

    def __init__(self, context):
        self.context = context

    def execute(self, arguments):
        """Returns whether all letters have got their fonts."""
        values = {argument.Name: argument.Value for argument in arguments}
        document, kind = values["document"], values["kind"]
        fallbacks = Fallbacks(self.context, json.loads(values["fallbacks"]))
        document.lockControllers()
        try:
            self.place(fallbacks, document, kind)
        except OutOfTime:
            return False
        finally:
            document.unlockControllers()
        return True

    def place(self, fallbacks, document, kind):
        if kind == "document":
            document.RecordChanges = False
            fallbacks.search(document)
            fallbacks.shapes(document.DrawPage)
        elif kind == "presentation":
            for pages in (document.DrawPages, document.MasterPages):
                for page in pages:
                    fallbacks.shapes(page)
        else:
            for sheet in document.Sheets:
                if sheet.IsVisible:
                    fallbacks.cells(sheet)
                    fallbacks.shapes(sheet.DrawPage)


g_ImplementationHelper = unohelper.ImplementationHelper()
g_ImplementationHelper.addImplementation(Placement, "relaypdf.Placement", ("com.sun.star.task.Job",))
