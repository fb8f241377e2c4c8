"""Small workbooks for tests, written by hand: the packages that write them are not needed for reading."""

from __future__ import annotations

import zipfile

TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
PARTS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
BOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"


def write_workbook(path, rows):
    """A workbook: rows of one sheet, or a dict of such by name; None is no cell."""
    sheets = rows if isinstance(rows, dict) else {"Sheet1": rows}
    ids = {name: f"r{k}" for k, name in enumerate(sheets)}
    named = "".join(f'<sheet name="{name}" sheetId="{k}" r:id="{ids[name]}"/>' for k, name in enumerate(sheets, 1))
    files = {
        "[Content_Types].xml": f'<Types xmlns="{TYPES}"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{BOOK}"/></Types>',
        "_rels/.rels": links("officeDocument", {"r": "xl/workbook.xml"}),
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{named}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": links("worksheet", {one: f"worksheets/{one}.xml" for one in ids.values()}),
        **{f"xl/worksheets/{ids[name]}.xml": sheet_xml(cells) for name, cells in sheets.items()},
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def links(kind, targets):
    found = "".join(f'<Relationship Id="{id}" Type="{OFFICE}/{kind}" Target="{to}"/>' for id, to in targets.items())
    return f'<Relationships xmlns="{PARTS}">{found}</Relationships>'


def sheet_xml(rows):
    cells = "".join(
        f'<row r="{i}">{"".join(cell(i, j, v) for j, v in enumerate(row))}</row>' for i, row in enumerate(rows, 1)
    )
    return f'<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>'


def cell(row, column, value):
    place = f"{'ABCDEFGHIJ'[column]}{row}"
    if value is None:
        return ""
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'
