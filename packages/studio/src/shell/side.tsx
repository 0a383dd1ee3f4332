/** The navigation at the side. */
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { useMay, useMe } from '../data/me.ts';
import { flowsQuery, questionsQuery } from '../data/server.ts';
import { Icon, Mark, type IconName } from '../ui/icon.tsx';
import { useKeys } from '../ui/keys.ts';
import { Button } from '../ui/parts.tsx';
import { closeMenu, useMenu } from './menu.ts';
import { setTheme, useTheme, type Theme } from './theme.ts';

export const PAGES: readonly {
  readonly title: string;
  readonly to: string;
  readonly icon: IconName;
  readonly keys: string;
}[] = [
  { title: 'Inbox', to: '/inbox', icon: 'inbox', keys: 'g i' },
  { title: 'Runs', to: '/runs', icon: 'runs', keys: 'g r' },
  { title: 'Flows', to: '/flows', icon: 'flows', keys: 'g f' },
  { title: 'Health', to: '/health', icon: 'health', keys: 'g h' },
  { title: 'Audit', to: '/audit', icon: 'audit', keys: 'g a' },
];
const FLOWS_SHOWN = 30;

export function Side({ onHelp }: { readonly onHelp: () => void }): ReactElement {
  const navigate = useNavigate();
  const isOpen = useMenu();
  useKeys(
    'Pages',
    PAGES.map(({ title, to, keys }) => ({ keys, does: title, run: () => void navigate({ to }) })),
  );
  return (
    <>
      {isOpen && <button type="button" className="side-veil" aria-label="Close the menu" onClick={closeMenu} />}
      <aside aria-label="Sidebar" className={`side ${isOpen ? 'is-open' : ''}`}>
        <div className="brand">
          <Mark /> Sluice
        </div>
        <nav aria-label="Pages" className="side-list">
          {PAGES.map(({ title, to, icon }) => (
            <Link key={to} to={to} className="side-link" activeProps={{ 'aria-current': 'page' }} onClick={closeMenu}>
              <Icon name={icon} />
              {title}
              {title === 'Inbox' && <OpenCount />}
            </Link>
          ))}
        </nav>
        <SideFlows />
        <SideFoot onHelp={onHelp} />
      </aside>
    </>
  );
}

/** How many questions the caller may answer. */
function OpenCount(): ReactElement | null {
  const { data } = useQuery({ ...questionsQuery, enabled: useMay('approver') });
  const mine = data?.items.filter(({ mayAnswer }) => mayAnswer).length ?? 0;
  return mine === 0 ? null : (
    <span className="count" aria-hidden="true">
      {mine}
    </span>
  );
}

function SideFlows(): ReactElement {
  const { data } = useQuery(flowsQuery);
  const flows = data?.items ?? [];
  return (
    <nav className="side-flows" aria-label="Flows of this server">
      {flows.length > 0 && <p className="side-title">Flows</p>}
      {flows.slice(0, FLOWS_SHOWN).map(({ id, ok }) => (
        <Link
          key={id}
          to="/flows/$flow"
          params={{ flow: id }}
          className="side-link"
          activeProps={{ 'aria-current': 'page' }}
          onClick={closeMenu}
        >
          <span className="ellipsis">{id}</span>
          {!ok && <Icon name="warning" className="ink-waiting" />}
        </Link>
      ))}
    </nav>
  );
}

const THEMES: { readonly [theme in Theme]: { readonly icon: IconName; readonly next: Theme } } = {
  system: { icon: 'screen', next: 'light' },
  light: { icon: 'sun', next: 'dark' },
  dark: { icon: 'moon', next: 'system' },
};

function SideFoot({ onHelp }: { readonly onHelp: () => void }): ReactElement {
  const me = useMe();
  const theme = useTheme();
  const { icon, next } = THEMES[theme];
  return (
    <div className="side-foot">
      <span className="grow ellipsis">
        <strong>{me?.person ?? me?.name}</strong> {me === null ? '' : roleOf(me.access)}
      </span>
      <Button
        kind="quiet"
        icon={icon}
        aria-label={`Theme: ${theme}. Change to ${next}`}
        title={`Theme: ${theme}`}
        onClick={() => setTheme(next)}
      />
      <Button kind="quiet" className="square" aria-label="Keys" title="Keys" onClick={onHelp}>
        <kbd aria-hidden="true">?</kbd>
      </Button>
    </div>
  );
}

/** The access that says most. */
function roleOf(access: readonly string[]): string {
  return ['admin', 'approver', 'operator', 'viewer'].find((each) => access.includes(each)) ?? '';
}
