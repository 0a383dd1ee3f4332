/** Opens a page in the browser of this machine, if it has one. */
import { spawn } from 'node:child_process';

/** True if a browser was asked. It may still fail; the address is printed in any case. */
export function openBrowser(url: string, isTerminal: boolean, env: NodeJS.ProcessEnv = process.env): boolean {
  const command = commandOf(env, isTerminal);
  if (command === null) return false;
  const [program = '', ...given] = command;
  const child = spawn(program, [...given, url], { detached: true, stdio: 'ignore' });
  // A machine without this program has no browser.
  child.on('error', () => undefined);
  child.unref();
  return true;
}

/** A browser is opened if `BROWSER` names one. Otherwise there must be a terminal and a display. */
function commandOf(env: NodeJS.ProcessEnv, isTerminal: boolean): readonly string[] | null {
  const { BROWSER: wanted = '', DISPLAY: x11 = '', WAYLAND_DISPLAY: wayland = '' } = env;
  if (wanted === 'none') return null;
  if (wanted !== '') return wanted.split(/\s+/);
  if (!isTerminal) return null;
  if (process.platform === 'darwin') return ['open'];
  return x11 !== '' || wayland !== '' ? ['xdg-open'] : null;
}
