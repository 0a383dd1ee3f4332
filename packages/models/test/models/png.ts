/** A picture for tests. */

/** A PNG of this size by its header. Nothing decodes it. */
export function png(width = 10, height = 10, salt = 0): Buffer {
  const data = Buffer.alloc(64, salt);
  data.write('\x89PNG\r\n\x1a\n', 0, 'latin1');
  data.writeUInt32BE(13, 8);
  data.write('IHDR', 12, 'latin1');
  data.writeUInt32BE(width, 16);
  data.writeUInt32BE(height, 20);
  return data;
}
