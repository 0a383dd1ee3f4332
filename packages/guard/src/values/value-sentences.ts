/**
 * The text of a reply as a reader sees it, for the detectors. Markup, invisible characters and look-alike letters do not hide a
 * word. An object is read field by field: `{"mail_sent": true}` as "Mail sent.", and `{"mail": "sent"}` as "Mail: sent.".
 */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { INVISIBLE } from '../text/sources.ts';
import { isParticiple } from './words.ts';

/** The sentences of a value, one per line. Lists and objects are read to any depth. */
export function sentencesIn(value: Json): string {
  const lines: string[] = [];
  const open: (readonly [string, Json])[] = [['', value]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [name, each] = next;
    if (each !== null && typeof each === 'object') open.push(...fieldsOf(each, name).toReversed());
    else lines.push(sentenceOf(name, each));
  }
  return seen(lines.filter((line) => line !== '').join('\n'));
}

function fieldsOf(
  value: Exclude<Json, string | number | boolean | null>,
  name: string,
): readonly (readonly [string, Json])[] {
  return isRecord(value) ? Object.entries(value) : value.map((each) => [name, each] as const);
}

/** A field with a participle in its name or as its value is a sentence. Of other fields only the value is read. */
function sentenceOf(name: string, value: string | number | boolean | null): string {
  const words = wordsOf(name);
  if (value === true) return words.some(isParticiple) ? `${capital(words.join(' '))}.` : 'true';
  const text = String(value);
  const isState = words.length > 0 && isParticiple(text.trim());
  return isState ? `${capital(words.join(' '))}: ${text.trim()}.` : text;
}

function wordsOf(name: string): readonly string[] {
  return name
    .replace(/(?<=[a-z\d])(?=[A-Z])/g, ' ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && !/^(?:is|was|has|been|successfully)$/.test(word));
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/** Without tags and marks inside words. A letter of another script that looks like a Latin one is read as the Latin one. */
function seen(text: string): string {
  const plain = text
    .normalize('NFKC')
    .replace(INVISIBLE, '')
    .replace(/<\/?[a-z][^<>\n]{0,200}>/gi, ' ')
    .replace(/\*\*|__|~~|(?<![\p{L}\p{N}])[_*](?=\p{L})|(?<=\p{L})[_*](?![\p{L}\p{N}])/gu, '');
  const isLatin = count(plain, /\p{Script=Latin}/gu) > count(plain, /[\p{Script=Cyrillic}\p{Script=Greek}]/gu);
  return plain.replace(/[\p{L}\p{M}]+/gu, (word) => {
    if (!/[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]/u.test(word)) return word;
    const latin = [...word].map((letter) => ALIKE.get(letter) ?? letter).join('');
    return (isLatin || /\p{Script=Latin}/u.test(word)) && /^\p{Script=Latin}+$/u.test(latin) ? latin : word;
  });
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

const LOOK_ALIKES = [
  'аa еe оo рp сc уy хx іi јj ѕs ԁd һh ԛq ԝw ӏl ѵv гr пn тt кk мm вb нh',
  'αa οo νv ρp υu τt κk ιi εe ηn χx γy ϲc',
  'օo սu հh ոn ցg',
];
const ALIKE: ReadonlyMap<string, string> = new Map(
  LOOK_ALIKES.flatMap((line) => line.split(' ')).flatMap(([other = '', latin = '']) => [
    [other, latin] as const,
    [other.toUpperCase(), latin.toUpperCase()] as const,
  ]),
);
