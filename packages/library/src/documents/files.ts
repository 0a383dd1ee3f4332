/** Reads a file that the user named. Errors name the file and the reason. */
import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { SluiceError } from '@sluice-internal/engine/ports';

/** Standard input can be read only once, and a command may need it twice. */
let fromStdin: string | undefined;

export function readText(file: string): string {
  try {
    return file === '-' ? (fromStdin ??= decoded(readFileSync(0), file)) : decoded(readFileSync(file), file);
  } catch (error) {
    if (error instanceof SluiceError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT')
      throw new SluiceError(
        'file-not-found',
        `there is no file \`${file}\``,
        'Paths are relative to the current directory.',
      );
    if (code === 'EISDIR')
      throw new SluiceError('file-unreadable', `\`${file}\` is a directory`, 'Name the file inside it.');
    throw new SluiceError(
      'file-unreadable',
      `\`${file}\` cannot be read: ${message}`,
      'Check its owner and its permissions.',
      error,
    );
  }
}

function decoded(bytes: Buffer, file: string): string {
  const text = bytes.toString('utf8');
  if (isUtf8(bytes)) return text;
  const line = text.slice(0, text.indexOf('\uFFFD')).split('\n').length;
  throw new SluiceError(
    'file-unreadable',
    `\`${file}\` is not UTF-8 text: line ${line} has other bytes`,
    'Save the file as UTF-8.',
  );
}
