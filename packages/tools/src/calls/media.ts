/**
 * Recognises images and files by their content. A declared type or a file name proves nothing. Nothing is decoded: the size
 * of an image is read from its header, so an image that unpacks to gigabytes costs nothing here and is refused.
 */
export interface Media {
  readonly mediaType: string;
  /** In pixels. */
  readonly width?: number;
  readonly height?: number;
}

/** Null if the content is of no type that models take. */
export function recognise(data: Buffer): Media | null {
  for (const read of [png, jpeg, gif, riff, pdf, mp3]) {
    const media = read(data);
    if (media !== null) return media;
  }
  return null;
}

/** An estimate on the high side, because a budget reserves it before the call. */
export function tokensOf(data: Buffer, { mediaType, width = 2_000, height = 2_000 }: Media): number {
  if (mediaType.startsWith('image/')) return Math.min(4_000, Math.max(300, Math.ceil((width * height) / 500)));
  if (mediaType.startsWith('audio/')) return Math.min(999_999, Math.ceil(data.length / 500));
  const pages = data.toString('latin1').match(/\/Type\s*\/Page(?!s)/g)?.length ?? 0;
  return Math.min(999_999, Math.max(pages, Math.ceil(data.length / 50_000)) * 2_500);
}

function png(data: Buffer): Media | null {
  if (data.length < 33 || data.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') return null;
  return { mediaType: 'image/png', width: data.readUInt32BE(16), height: data.readUInt32BE(20) };
}

function gif(data: Buffer): Media | null {
  if (data.length < 13 || !/^GIF8[79]a$/.test(data.toString('latin1', 0, 6))) return null;
  return { mediaType: 'image/gif', width: data.readUInt16LE(6), height: data.readUInt16LE(8) };
}

/** Frames that hold the size: SOF0 to SOF15, except the tables DHT, JPG and DAC. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

function jpeg(data: Buffer): Media | null {
  if (data.length < 4 || data.readUInt16BE(0) !== 0xffd8 || data[2] !== 0xff) return null;
  for (let at = 2; at + 9 < data.length && data[at] === 0xff;) {
    const marker = data[at + 1] as number;
    if (isFrame(marker))
      return { mediaType: 'image/jpeg', height: data.readUInt16BE(at + 5), width: data.readUInt16BE(at + 7) };
    at += 2 + data.readUInt16BE(at + 2);
  }
  return null;
}

function riff(data: Buffer): Media | null {
  if (data.length < 30 || data.toString('latin1', 0, 4) !== 'RIFF') return null;
  const form = data.toString('latin1', 8, 12);
  if (form === 'WAVE') return { mediaType: 'audio/wav' };
  if (form !== 'WEBP') return null;
  const size = webpSize(data, data.toString('latin1', 12, 16));
  return size === null ? null : { mediaType: 'image/webp', width: size[0], height: size[1] };
}

function webpSize(data: Buffer, chunk: string): readonly [number, number] | null {
  if (chunk === 'VP8X') return [data.readUIntLE(24, 3) + 1, data.readUIntLE(27, 3) + 1];
  if (chunk === 'VP8 ') return [data.readUInt16LE(26) & 0x3fff, data.readUInt16LE(28) & 0x3fff];
  if (chunk !== 'VP8L') return null;
  const bits = data.readUInt32LE(21);
  return [(bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1];
}

function pdf(data: Buffer): Media | null {
  return data.toString('latin1', 0, 5) === '%PDF-' ? { mediaType: 'application/pdf' } : null;
}

function mp3(data: Buffer): Media | null {
  const isTagged = data.toString('latin1', 0, 3) === 'ID3';
  const isFramed = data.length > 2 && data[0] === 0xff && [0xfb, 0xf3, 0xf2].includes(data[1] as number);
  return isTagged || isFramed ? { mediaType: 'audio/mpeg' } : null;
}
