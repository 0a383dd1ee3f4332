/** Everything by its name: pages, flows, runs, and what the keys of this page do. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { flowsQuery, runsPage } from '../data/server.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon, type IconName } from '../ui/icon.tsx';
import { shortcutGroups } from '../ui/keys.ts';
import { PAGES } from './side.tsx';
import { setTheme } from './theme.ts';

interface Entry {
  readonly id: string;
  readonly title: string;
  readonly kind: string;
  readonly icon: IconName;
  readonly run: () => void;
}
const SHOWN = 40;

export function Palette({ onClose }: { readonly onClose: () => void }): ReactElement {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const entries = useEntries(text);
  const chosen = entries[Math.min(at, entries.length - 1)];
  const use = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    onClose();
    entry.run();
  };
  return (
    <Dialog label="Search" className="palette" onClose={onClose}>
      <input
        data-autofocus
        role="combobox"
        aria-label="Search pages, flows, runs and commands"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={chosen === undefined ? undefined : `palette-${chosen.id}`}
        placeholder="Search pages, flows, runs and commands"
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setAt(0);
        }}
        onKeyDown={({ key }) => {
          if (key === 'ArrowDown') setAt(Math.min(entries.length - 1, at + 1));
          if (key === 'ArrowUp') setAt(Math.max(0, at - 1));
          if (key === 'Enter') use(chosen);
        }}
      />
      <div id="palette-list" className="palette-list" role="listbox" aria-label="Found">
        {entries.map((entry) => (
          <div
            key={entry.id}
            id={`palette-${entry.id}`}
            role="option"
            aria-selected={entry === chosen}
            tabIndex={-1}
            className="palette-item"
            onPointerDown={() => use(entry)}
          >
            <Icon name={entry.icon} className="text-3" />
            <span className="ellipsis">{entry.title}</span>
            <span className="kind">{entry.kind}</span>
          </div>
        ))}
      </div>
    </Dialog>
  );
}

function useEntries(text: string): readonly Entry[] {
  const navigate = useNavigate();
  const { data: flows } = useQuery(flowsQuery);
  const q = text.trim();
  const { data: runs } = useQuery({
    queryKey: ['runs', 'palette', q],
    queryFn: () => runsPage({ q: q === '' ? undefined : q }, undefined, 8),
  });
  const go = (to: string) => (): void => void navigate({ to });
  const named: readonly Entry[] = [
    ...PAGES.map(({ title, to, icon }) => ({ id: to, title, kind: 'page', icon, run: go(to) })),
    ...(flows?.items ?? []).map(({ id }) => ({
      id: `flow-${id}`,
      title: id,
      kind: 'flow',
      icon: 'flows' as const,
      run: go(`/flows/${encodeURIComponent(id)}`),
    })),
    ...(['light', 'dark', 'system'] as const).map((theme) => ({
      id: `theme-${theme}`,
      title: `Theme: ${theme}`,
      kind: 'command',
      icon: 'sun' as const,
      run: () => setTheme(theme),
    })),
    ...shortcutGroups()
      .filter(({ title }) => title !== 'Pages')
      .flatMap(({ title, shortcuts }) =>
        shortcuts.map(({ keys, does, run }) => ({
          id: `key-${title}-${keys}`,
          title: does,
          kind: keys,
          icon: 'right' as const,
          run,
        })),
      ),
  ];
  const found = named.filter(({ title }) => title.toLowerCase().includes(q.toLowerCase()));
  const rows = (runs?.items ?? []).map(({ run, flow }) => ({
    id: `run-${run}`,
    title: run,
    kind: flow,
    icon: 'runs' as const,
    run: go(`/runs/${encodeURIComponent(run)}`),
  }));
  return [...found, ...rows].slice(0, SHOWN);
}
