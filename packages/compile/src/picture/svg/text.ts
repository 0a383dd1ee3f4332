/** Text in a drawing: how wide it will be, where to break it, and how to write it so that it stays text. */
export function measure(text: string, size: number): number {
  let ems = 0;
  for (const character of text) ems += emsOf(character);
  return ems * size;
}

/** Breaks at spaces into lines of at most `width`. Text after `most` lines is cut. */
export function wrap(text: string, size: number, width: number, most: number): readonly string[] {
  const words = text.replaceAll(/\s+/g, ' ').trim().split(' ');
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line === '' || measure(longer, size) <= width) line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  if (line !== '') lines.push(line);
  const kept = lines.slice(0, most);
  if (lines.length > most) kept[most - 1] = lines.slice(most - 1).join(' ');
  return kept.map((each) => shorten(each, size, width));
}

export function shorten(text: string, size: number, width: number): string {
  if (measure(text, size) <= width) return text;
  let kept = '';
  for (const character of text) {
    if (measure(`${kept}${character}…`, size) > width) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}

/** Characters that XML 1.0 cannot hold are left out. */
export function escape(text: string): string {
  return text
    .replaceAll(
      /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g,
      '',
    )
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** An estimate for the usual sans-serif fonts, a little too wide. */
function emsOf(character: string): number {
  if ("ijl|.,:;'!`".includes(character)) return 0.29;
  if ('ftrI()[]{}-/\\" '.includes(character)) return 0.37;
  if ('mwMW@%…'.includes(character)) return 0.9;
  const point = character.codePointAt(0) ?? 0;
  if (point >= 0x2e80) return 1.05;
  return point >= 65 && point <= 90 ? 0.69 : 0.58;
}
