"""How many places the minor unit of a currency has, by ISO 4217, where it is not two."""

_PLACES = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
_BY_CODE = {code: places for places, codes in _PLACES.items() for code in codes.split()}


def minor_places(currency: str) -> int:
    """Places behind the point of amounts that can be paid in a currency."""
    return _BY_CODE.get(currency, 2)
