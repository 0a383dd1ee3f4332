/**
 * The currency of a payment. A source names a currency by its code, by its sign or by its word beside a number: `EUR`, `€250`,
 * `250 euros`. A sign such as `$` stands for several currencies.
 */

/** A code and the other spellings of the currency. */
const CURRENCIES =
  `eur € euro euros|usd $ us$ dollar dollars|gbp £ pound pounds sterling|jpy ¥ yen 円|cny ¥ yuan renminbi 元
  |chf sfr franc francs franken|inr ₹ rupee rupees|cad $ ca$ dollar dollars|aud $ au$ dollar dollars|nzd $ dollar dollars
  |sgd $ dollar dollars|hkd $ dollar dollars|mxn $ peso pesos|brl r$ reais|krw ₩ won|try ₺ lira|rub ₽ rubles roubles рублей
  |pln zł zloty|sek kr krona kronor|nok kr krone kroner|dkk kr krone kroner|czk kč|ils ₪ shekel shekels|zar rand|btc ₿ bitcoin`
    .split('|')
    .map((row) => row.trim().split(/\s+/));

const CODES: ReadonlySet<string> = new Set(CURRENCIES.map(([code = '']) => code));
const SPELLINGS = [...new Set(CURRENCIES.flat())].map((each) => each.replace('$', '\\$')).join('|');
const BESIDE_NUMBER = new RegExp(
  `(?<![\\p{L}\\p{N}])(?<before>${SPELLINGS})\\s?(?=\\d)|(?<=\\d\\s?)(?<after>${SPELLINGS})(?!\\p{L})`,
  'giu',
);

/** The field holds a currency: `currency`, `currency_code`, `paymentCurrency`. */
export function isCurrencyField(path: string): boolean {
  return /currency|(?:^|[._])ccy(?:$|_)/i.test(path.split('.').at(-1) ?? '');
}

/** The codes of the currencies that a text names. */
export function currenciesIn(text: string): ReadonlySet<string> {
  const codes = (text.match(/(?<![\p{L}\p{N}])[A-Z]{3}(?![\p{L}\p{N}])/gu) ?? []).map((code) => code.toLowerCase());
  const beside = [...text.matchAll(BESIDE_NUMBER)].flatMap(({ groups = {} }) =>
    codesOf(groups['before'] ?? groups['after'] ?? ''),
  );
  return new Set([...codes.filter((code) => CODES.has(code)), ...beside]);
}

/** The codes that the value of a currency field can mean. A code that is not in the table means itself. */
export function codesOf(value: string): readonly string[] {
  const plain = value.trim().toLowerCase();
  const known = CURRENCIES.filter((spellings) => spellings.includes(plain)).map(([code = '']) => code);
  return known.length === 0 ? [plain] : known;
}
