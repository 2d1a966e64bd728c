"""Parses large answers of EC2 in a thread, so that lists of instances do not hold up the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final
from xml.etree import ElementTree as ET

from aiobotocore.parsers import AioEC2QueryParser, AioResponseParserFactory
from botocore.parsers import ResponseParser, ResponseParserError

_LARGE: Final = 16 * 1024  # bytes
_CHUNK: Final = 32 * 1024  # bytes of XML between two chances for another thread
_EC2: Final = "ec2"


class _Ec2Parser(AioEC2QueryParser):
    """As aiobotocore's, but for large answers in a thread."""

    async def _do_parse(self, response: Mapping[str, bytes], shape: object) -> object:
        parse = super()._do_parse  # type: ignore[misc]  # the stubs leave it out
        if len(response["body"]) < _LARGE:
            return parse(response, shape)
        return await asyncio.to_thread(parse, response, shape)

    def _parse_xml_string_to_dom(self, xml_string: bytes) -> ET.Element:
        parser = ET.XMLParser(target=ET.TreeBuilder(), encoding=self.DEFAULT_ENCODING)  # noqa: S314  AWS sent it
        try:
            for start in range(0, len(xml_string), _CHUNK):
                parser.feed(xml_string[start : start + _CHUNK])
            root: ET.Element = parser.close()
        except ET.ParseError as error:
            msg = f"the answer is no XML: {error}"
            raise ResponseParserError(msg) from error
        return root


class ParserFactory(AioResponseParserFactory):
    """Makes parsers of answers: that of EC2 is ours."""

    def __init__(self) -> None:
        super().__init__()
        # botocore's own parser of instants is slow, and instances have several of them.
        self.set_parser_defaults(timestamp_parser=instant)

    def create_parser(self, protocol_name: str) -> ResponseParser:
        """The parser for a protocol."""
        if protocol_name == _EC2:
            return _Ec2Parser(timestamp_parser=instant)
        return super().create_parser(protocol_name)


def instant(value: str | float) -> datetime:
    """The instant that AWS writes as text, or as seconds."""
    if isinstance(value, str):
        return datetime.fromisoformat(value)
    return datetime.fromtimestamp(value, UTC)
