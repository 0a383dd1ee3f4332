/** Keys of the page. A page adds its own while it is shown; a later one wins. Keys do nothing while somebody types, or in a dialog. */
import { useEffect, useRef } from 'react';

export interface Shortcut {
  /** Such as `j`, `ArrowLeft`, `Shift+ArrowLeft`, or `g i`: one key after the other. */
  readonly keys: string;
  readonly does: string;
  readonly run: () => void;
}

interface Group {
  readonly title: string;
  shortcuts: readonly Shortcut[];
}

const groups: Group[] = [];
const TOGETHER_MS = 1200;
let before = '';
let beforeAt = 0;

export function shortcutGroups(): readonly Group[] {
  return groups;
}

export function useKeys(title: string, shortcuts: readonly Shortcut[]): void {
  const group = useRef<Group>({ title, shortcuts });
  useEffect(() => {
    group.current.shortcuts = shortcuts;
  });
  useEffect(() => {
    const own = group.current;
    groups.push(own);
    return () => void groups.splice(groups.indexOf(own), 1);
  }, []);
}

export function listenToKeys(): () => void {
  document.addEventListener('keydown', onKey);
  return () => document.removeEventListener('keydown', onKey);
}

/** Null if the key belongs to somebody else: the browser, a field, a dialog. */
function keyOf(event: KeyboardEvent): string | null {
  if (document.querySelector('dialog[open]') !== null) return null;
  if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') return 'Mod+k';
  if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return null;
  return event.shiftKey && event.key.length > 1 ? `Shift+${event.key}` : event.key;
}

function onKey(event: KeyboardEvent): void {
  const key = keyOf(event);
  if (key === null) return;
  const two = Date.now() - beforeAt < TOGETHER_MS ? `${before} ${key}` : key;
  before = key;
  beforeAt = Date.now();
  const all = groups.toReversed().flatMap(({ shortcuts }) => shortcuts);
  const found = all.find(({ keys }) => keys === two) ?? all.find(({ keys }) => keys === key);
  if (found === undefined || (isControl(event.target) && (key === 'Enter' || key === ' '))) return;
  event.preventDefault();
  found.run();
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== 'range' && target.type !== 'checkbox';
  return target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName);
}

function isControl(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('button, a, summary') !== null;
}
