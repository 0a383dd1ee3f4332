/**
 * Who holds a lease, in such words that another process on the same machine can tell for certain that it is dead. A run of
 * a dead holder need not wait for the lease to end. In every doubt, a holder counts as alive: one that is stopped, slow or
 * out of sight keeps what it has for as long as its lease says.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Null where this system does not tell processes apart well enough. */
export function holderHere(): string | null {
  place ??= placeOf();
  const started = statOf(process.pid)?.started;
  return place === '' || started === undefined ? null : `${place} ${process.pid} ${started}`;
}

/** True only if that very process has existed where we can see it, and does not any more. */
export function isDead(holder: string): boolean {
  place ??= placeOf();
  const [pid = '', started = ''] = holder.startsWith(`${place} `) ? holder.slice(place.length + 1).split(' ') : [];
  if (place === '' || !/^[1-9]\d*$/.test(pid) || started === '') return false;
  if (!exists(Number(pid))) return true;
  const stat = statOf(Number(pid));
  // The number may belong to a later process, or to what is left of a dead one until its parent looks.
  return stat !== null && (stat.started !== started || stat.state === 'Z' || stat.state === 'X');
}

let place: string | undefined;

/** Numbers of processes mean something within one boot of one machine, and there within one container. */
function placeOf(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${hostname()} ${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return '';
  }
}

/** Asking, unlike looking into `/proc`, also finds processes of other users where those are hidden. */
function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code !== 'ESRCH';
  }
}

/** Fields 3 and 22; the name before them may contain anything, brackets and blanks too. */
function statOf(pid: number): { readonly state: string; readonly started: string } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state, started] = [fields[0], fields[19]];
    return state === undefined || started === undefined ? null : { state, started };
  } catch {
    return null;
  }
}
