"""Small workbooks for tests, written by hand: the packages that write them are not needed for reading."""

from __future__ import annotations

import zipfile

TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
PARTS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
BOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"


def write_workbook(path, rows):
    """A workbook of one sheet; None is no cell."""
    cells = "".join(
        f'<row r="{i}">{"".join(cell(i, j, v) for j, v in enumerate(row))}</row>' for i, row in enumerate(rows, 1)
    )
    link = f'<Relationships xmlns="{PARTS}"><Relationship Id="r" Type="{OFFICE}/%s" Target="%s"/></Relationships>'
    files = {
        "[Content_Types].xml": f'<Types xmlns="{TYPES}"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{BOOK}"/></Types>',
        "_rels/.rels": link % ("officeDocument", "xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
        '<sheet name="Sheet1" sheetId="1" r:id="r"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": link % ("worksheet", "worksheets/one.xml"),
        "xl/worksheets/one.xml": f'<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def cell(row, column, value):
    place = f"{'ABCDEFGHIJ'[column]}{row}"
    if value is None:
        return ""
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'
