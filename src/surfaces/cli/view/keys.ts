/**
 * Takes the keys that are typed while a live view is drawn. An echoed line end would move the cursor below the frame and leave
 * stray lines; keys must also not answer a question that comes later. Ctrl-C and Ctrl-Z work as usual.
 */
import { readFileSync } from 'node:fs';

const CTRL_C = '\u0003';
const CTRL_Z = '\u001A';
const CTRL_BACKSLASH = '\u001C';

/** Returns a function that gives the keys back. */
export function takeKeys(): () => void {
  const { stdin } = process;
  if (stdin.isTTY !== true || stdin.isRaw || !isForeground()) return () => undefined;
  const onData = (chunk: Buffer): void => {
    const keys = chunk.toString();
    if (keys.includes(CTRL_C)) process.kill(process.pid, 'SIGINT');
    else if (keys.includes(CTRL_BACKSLASH)) process.kill(process.pid, 'SIGQUIT');
    else if (keys.includes(CTRL_Z)) stopProcess();
  };
  const onContinue = (): void => void stdin.setRawMode(true);
  stdin.setRawMode(true);
  stdin.on('data', onData);
  stdin.resume();
  // The process may end while the view is drawn.
  stdin.unref();
  process.on('SIGCONT', onContinue);
  return () => {
    process.removeListener('SIGCONT', onContinue);
    stdin.removeListener('data', onData);
    stdin.pause();
    stdin.setRawMode(false);
    stdin.ref();
  };
}

function stopProcess(): void {
  process.stdin.setRawMode(false);
  process.kill(process.pid, 'SIGTSTP');
}

/** A process in the background that changes the terminal is stopped by the system. In doubt it is in the foreground. */
function isForeground(): boolean {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const [, , , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 1).split(' ');
    return group === foreground;
  } catch {
    return true;
  }
}
