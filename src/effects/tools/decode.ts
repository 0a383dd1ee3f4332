/** Bytes as text. What is not UTF-8 is replaced, and said to have been. */
export interface Decoded {
  readonly text: string;
  /** Whether something was replaced, so that the text does not give the bytes back. */
  readonly lossy: boolean;
}

export function decode(data: Buffer): Decoded {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data), lossy: false };
  } catch {
    return { text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(data), lossy: true };
  }
}

/** Without the bytes of a character that was cut in two at the end. */
export function wholeCharacters(data: Buffer): Buffer {
  for (let back = 1; back <= Math.min(4, data.length); back += 1) {
    const byte = data[data.length - back] as number;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue;
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needs > back ? data.subarray(0, data.length - back) : data;
  }
  return data;
}
