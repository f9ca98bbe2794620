"""Which language codes a card may carry, and the English names of the languages for its sentences.

The Hub takes ISO 639-1 (two letters) and ISO 639-2/3 (three letters). The two-letter codes are few and are checked one
by one; there are about eight thousand three-letter codes, so only their form is checked.
"""

import re

ISO_639_1 = """
aa Afar|ab Abkhazian|ae Avestan|af Afrikaans|ak Akan|am Amharic|an Aragonese|ar Arabic|as Assamese|av Avaric|ay Aymara
az Azerbaijani|ba Bashkir|be Belarusian|bg Bulgarian|bi Bislama|bm Bambara|bn Bengali|bo Tibetan|br Breton|bs Bosnian
ca Catalan|ce Chechen|ch Chamorro|co Corsican|cr Cree|cs Czech|cu Church Slavonic|cv Chuvash|cy Welsh|da Danish
de German|dv Dhivehi|dz Dzongkha|ee Ewe|el Greek|en English|eo Esperanto|es Spanish|et Estonian|eu Basque|fa Persian
ff Fulah|fi Finnish|fj Fijian|fo Faroese|fr French|fy Western Frisian|ga Irish|gd Scottish Gaelic|gl Galician
gn Guarani|gu Gujarati|gv Manx|ha Hausa|he Hebrew|hi Hindi|ho Hiri Motu|hr Croatian|ht Haitian Creole|hu Hungarian
hy Armenian|hz Herero|ia Interlingua|id Indonesian|ie Interlingue|ig Igbo|ii Sichuan Yi|ik Inupiaq|io Ido|is Icelandic
it Italian|iu Inuktitut|ja Japanese|jv Javanese|ka Georgian|kg Kongo|ki Kikuyu|kj Kuanyama|kk Kazakh|kl Greenlandic
km Khmer|kn Kannada|ko Korean|kr Kanuri|ks Kashmiri|ku Kurdish|kv Komi|kw Cornish|ky Kyrgyz|la Latin|lb Luxembourgish
lg Ganda|li Limburgish|ln Lingala|lo Lao|lt Lithuanian|lu Luba-Katanga|lv Latvian|mg Malagasy|mh Marshallese|mi Maori
mk Macedonian|ml Malayalam|mn Mongolian|mr Marathi|ms Malay|mt Maltese|my Burmese|na Nauru|nb Norwegian Bokmål
nd North Ndebele|ne Nepali|ng Ndonga|nl Dutch|nn Norwegian Nynorsk|no Norwegian|nr South Ndebele|nv Navajo|ny Chichewa
oc Occitan|oj Ojibwa|om Oromo|or Odia|os Ossetian|pa Punjabi|pi Pali|pl Polish|ps Pashto|pt Portuguese|qu Quechua
rm Romansh|rn Rundi|ro Romanian|ru Russian|rw Kinyarwanda|sa Sanskrit|sc Sardinian|sd Sindhi|se Northern Sami|sg Sango
sh Serbo-Croatian|si Sinhala|sk Slovak|sl Slovenian|sm Samoan|sn Shona|so Somali|sq Albanian|sr Serbian|ss Swati
st Southern Sotho|su Sundanese|sv Swedish|sw Swahili|ta Tamil|te Telugu|tg Tajik|th Thai|ti Tigrinya|tk Turkmen
tl Tagalog|tn Tswana|to Tonga|tr Turkish|ts Tsonga|tt Tatar|tw Twi|ty Tahitian|ug Uyghur|uk Ukrainian|ur Urdu|uz Uzbek
ve Venda|vi Vietnamese|vo Volapük|wa Walloon|wo Wolof|xh Xhosa|yi Yiddish|yo Yoruba|za Zhuang|zh Chinese|zu Zulu
"""

LANGUAGE_NAMES: dict[str, str] = {
    entry[:2]: entry[3:] for line in ISO_639_1.strip().splitlines() for entry in line.split("|")
}
"""Two-letter code -> English name."""

COUNTRY_TAKEN_FOR_LANGUAGE = {"jp": "ja", "cn": "zh", "gr": "el", "dk": "da", "cz": "cs", "ua": "uk", "vn": "vi"}


def check_language_code(code: object, where: str) -> str:
    """Returns the code as it is, or raises a ValueError that says where it came from and what to write instead."""
    if isinstance(code, str) and (code in LANGUAGE_NAMES or re.fullmatch(r"[a-z]{3}", code) or code == "multilingual"):
        return code
    advice = "Write the code of the language, for example 'de', 'en' or 'ko', or leave the field out."
    if isinstance(code, str):
        written = code.strip().lower().replace("_", "-").split("-")[0]
        by_name = {name.lower(): key for key, name in LANGUAGE_NAMES.items()}
        meant = by_name.get(code.strip().lower()) or COUNTRY_TAKEN_FOR_LANGUAGE.get(written)
        if meant is None and written in LANGUAGE_NAMES:
            meant = written
        if meant is not None:
            advice = f"Write {meant!r} for {LANGUAGE_NAMES[meant]}."
    raise ValueError(
        f"{where}: {code!r} is no language code. Allowed are ISO 639-1 codes (two lower-case letters), ISO 639-3 "
        f"codes (three) and 'multilingual'. {advice}"
    )


def language_name(code: str) -> str:
    """The English name for prose; a three-letter code stands for itself."""
    return LANGUAGE_NAMES.get(code, code)
