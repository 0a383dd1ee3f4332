/** Finds permissions that let other users read or change a database. A run may hold confidential text. */
import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;
/** In such a folder only the owner of a file can replace it. */
const STICKY = 0o1000;

/** One sentence for each problem that this user can correct. Empty on systems without such permissions. */
export function loosePermissions(path: string): readonly string[] {
  if (process.getuid === undefined) return [];
  const folder = dirname(resolve(path));
  const file = modeOf(path);
  const place = modeOf(folder);
  const found: string[] = [];
  if (file !== null && (file & OTHERS) !== 0)
    found.push(`other users can open \`${path}\` (mode ${octal(file)}); run \`chmod 600\` on it`);
  if (place !== null && (place & OTHERS_WRITE) !== 0 && (place & STICKY) === 0)
    found.push(
      `other users can replace \`${path}\`, because they can write to its folder (mode ${octal(place)}); run \`chmod go-w ${folder}\``,
    );
  return found;
}

/** Null if there is no such file, or if another user owns it. */
function modeOf(path: string): number | null {
  const stat = statSync(path, { throwIfNoEntry: false });
  const user = process.getuid?.();
  return stat === undefined || (user !== 0 && stat.uid !== user) ? null : stat.mode & 0o7777;
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8);
}
