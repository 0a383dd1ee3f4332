/**
 * Turns errors of SQLite and of the file system into errors with a code and a remedy. Programming errors, such as a broken
 * constraint, pass through unchanged.
 */
import { accessSync, constants, statSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { SluiceError } from '@sluice-internal/engine/ports';

export function faultOf(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || error instanceof SluiceError) return error;
  const { code, errcode } = error as Error & { code?: string; errcode?: number };
  if (code === 'ERR_INVALID_STATE')
    return new SluiceError('engine-closed', `the journal \`${path}\` is closed`, undefined, error);
  if (code === 'ERR_SQLITE_ERROR') return ofDatabase((errcode ?? 0) & 0xff, error, path);
  if (code === 'ERR_OUT_OF_RANGE')
    return new SluiceError(
      'journal-damaged',
      `\`${path}\` has a number that is too large: it was changed from outside`,
      'Restore it from a backup.',
      error,
    );
  return code === undefined ? error : ofFiles(code, error, path);
}

export function isBusy(error: unknown): boolean {
  const primary = ((error as { errcode?: number }).errcode ?? 0) & 0xff;
  return primary === 5 || primary === 6;
}

function ofDatabase(primary: number, error: Error, path: string): unknown {
  switch (primary) {
    case 5: // BUSY
    case 6: // LOCKED
      return new SluiceError(
        'journal-busy',
        `\`${path}\` is locked by another process`,
        'Try again; if the error stays, find the process that keeps the file open.',
        error,
      );
    case 3: // PERM
    case 8: // READONLY
    case 23: // AUTH
      return readOnly(path, error);
    case 13: // FULL
      return full(path, error);
    case 11: // CORRUPT
    case 26: // NOTADB
      return new SluiceError(
        'journal-damaged',
        `\`${path}\` cannot be read: ${error.message}`,
        'Restore it from a backup.',
        error,
      );
    case 18: // TOOBIG
      return new SluiceError(
        'value-too-large',
        'a value is larger than the journal can store',
        'Pass a path or an address instead of the content.',
        error,
      );
    case 10: // IOERR
    case 14: // CANTOPEN
      return ofDisk(error, path);
    default:
      return error;
  }
}

function ofFiles(code: string, error: Error, path: string): unknown {
  switch (code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return readOnly(path, error);
    case 'ENOSPC':
    case 'EDQUOT':
      return full(path, error);
    default:
      return unavailable(path, error);
  }
}

/** SQLite reports only that reading or writing failed, so look for the cause. */
function ofDisk(error: Error, path: string): SluiceError {
  const dir = dirname(path);
  try {
    if (statSync(path).isDirectory())
      return new SluiceError('journal-unavailable', `\`${path}\` is a folder`, 'Name the database file.', error);
    accessSync(dir, constants.W_OK);
    accessSync(path, constants.W_OK);
    const { bavail, bsize } = statfsSync(dir);
    if (bavail * bsize < ROOM_MIN) return full(path, error);
  } catch (found) {
    const code = (found as { code?: string }).code;
    if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return readOnly(path, error);
  }
  return unavailable(path, error);
}

/** The index of the write-ahead log grows by 32 KB at a time. With room for fewer than a few of these the disk counts as full. */
const ROOM_MIN = 128 * 1024;

function full(path: string, error: Error): SluiceError {
  return new SluiceError(
    'disk-full',
    `the disk of \`${path}\` is full; nothing was written`,
    'Free some space and try again.',
    error,
  );
}

function readOnly(path: string, error: Error): SluiceError {
  return new SluiceError(
    'journal-read-only',
    `\`${path}\` or its folder is read-only`,
    'Give this user write access to both.',
    error,
  );
}

function unavailable(path: string, error: Error): SluiceError {
  return new SluiceError(
    'journal-unavailable',
    `\`${path}\` cannot be opened, read or written: ${error.message}`,
    'Check the path, the disk and the limit on open files (`ulimit -n`).',
    error,
  );
}
