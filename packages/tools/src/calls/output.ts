/** Output of programs and servers as text: bounded in size, and always valid UTF-8. */
export interface Decoded {
  readonly text: string;
  /** True if some bytes were not UTF-8 and were replaced. */
  readonly lossy: boolean;
}

/** Keeps the first and the last half of `max` bytes of a stream: causes stand at the start, errors at the end. */
export class Output {
  readonly #half: number;
  #head: Buffer[] = [];
  #headSize = 0;
  #tail: Buffer[] = [];
  #tailSize = 0;
  #dropped = 0;

  constructor(max: number) {
    this.#half = Math.max(1, max >> 1);
  }

  push(chunk: Buffer): void {
    const room = this.#half - this.#headSize;
    if (room > 0) {
      const part = chunk.subarray(0, room);
      this.#head.push(part);
      this.#headSize += part.length;
    }
    if (chunk.length <= room) return;
    const rest = room > 0 ? chunk.subarray(room) : chunk;
    this.#tail.push(rest);
    this.#tailSize += rest.length;
    // Dropping whole chunks keeps memory bounded.
    while (this.#tailSize - (this.#tail[0] as Buffer).length >= this.#half) {
      const gone = this.#tail.shift() as Buffer;
      this.#tailSize -= gone.length;
      this.#dropped += gone.length;
    }
  }

  get truncated(): boolean {
    return this.#dropped > 0 || this.#tailSize > this.#half;
  }

  text(): string {
    const tail = Buffer.concat(this.#tail);
    if (!this.truncated) return decode(Buffer.concat([...this.#head, tail])).text;
    const extra = tail.length - this.#half;
    const kept = extra > 0 ? tail.subarray(extra) : tail;
    const left = this.#dropped + Math.max(0, extra);
    return `${decode(wholeCharacters(Buffer.concat(this.#head))).text}\n[... ${left} bytes left out ...]\n${decode(fromCharacter(kept)).text}`;
  }
}

export function decode(data: Buffer): Decoded {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data), lossy: false };
  } catch {
    return { text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(data), lossy: true };
  }
}

/** Drops an incomplete character at the end. */
export function wholeCharacters(data: Buffer): Buffer {
  for (let back = 1; back <= Math.min(4, data.length); back += 1) {
    const byte = data[data.length - back] as number;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue;
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needs > back ? data.subarray(0, data.length - back) : data;
  }
  return data;
}

/** Drops an incomplete character at the start. */
function fromCharacter(data: Buffer): Buffer {
  let start = 0;
  while (start < Math.min(3, data.length) && ((data[start] as number) & 0b1100_0000) === 0b1000_0000) start += 1;
  return data.subarray(start);
}
