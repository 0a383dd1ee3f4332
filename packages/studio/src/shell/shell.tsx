/** Around all pages: the navigation, the login, the keys, and the stream of changes. */
import { useQuery } from '@tanstack/react-query';
import { Outlet } from '@tanstack/react-router';
import { useEffect, useState, type ReactElement } from 'react';
import { useFreshLists } from '../data/fresh.ts';
import { live } from '../data/live.ts';
import { queries, sessionQuery, whenUnknown } from '../data/server.ts';
import { beginSession } from '../data/session.ts';
import { listenToKeys, useKeys } from '../ui/keys.ts';
import { Loading, Problem } from '../ui/parts.tsx';
import { KeysHelp } from './keys-help.tsx';
import { Login } from './login.tsx';
import { Palette } from './palette.tsx';
import { Side } from './side.tsx';

whenUnknown(() => {
  const known = queries.getQueryData(sessionQuery.queryKey);
  if (known !== undefined) queries.setQueryData(sessionQuery.queryKey, { ...known, me: null });
});

export function Shell(): ReactElement {
  const { data, error, refetch } = useQuery({ ...sessionQuery, queryFn: beginSession });
  useEffect(listenToKeys, []);
  if (data === undefined)
    return error === null ? <Loading what="the page" /> : <Problem error={error} onRetry={() => void refetch()} />;
  return data.me === null ? <Login issuer={data.login} /> : <Inside />;
}

function Inside(): ReactElement {
  const [open, setOpen] = useState<'palette' | 'keys' | null>(null);
  const close = (): void => setOpen(null);
  useEffect(() => live.start(), []);
  useFreshLists();
  useKeys('Everywhere', [
    { keys: 'Mod+k', does: 'Search everything', run: () => setOpen('palette') },
    { keys: '/', does: 'Search', run: () => searchHere() || setOpen('palette') },
    { keys: '?', does: 'Show the keys', run: () => setOpen('keys') },
  ]);
  return (
    <div className="shell">
      <Side onHelp={() => setOpen('keys')} />
      <Outlet />
      {open === 'palette' && <Palette onClose={close} />}
      {open === 'keys' && <KeysHelp onClose={close} />}
    </div>
  );
}

/** The search field of the page, if it has one. */
function searchHere(): boolean {
  const field = document.querySelector<HTMLInputElement>('input[data-search]');
  field?.focus();
  return field !== null;
}
