/** Reads a file that the user named. Errors name the file and the reason. */
import { readFileSync } from 'node:fs';
import { SluiceError } from '../../runtime/errors.ts';

/** Standard input can be read only once, and a command may need it twice. */
let fromStdin: string | undefined;

export function readText(file: string): string {
  try {
    return file === '-' ? (fromStdin ??= readFileSync(0, 'utf8')) : readFileSync(file, 'utf8');
  } catch (error) {
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
