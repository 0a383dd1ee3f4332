/** The pages and their addresses. Each page is loaded when it is first shown. */
import { QueryClientProvider } from '@tanstack/react-query';
import {
  RouterProvider,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { queries } from './data/server.ts';
import { searchOf } from './data/url.ts';
import { Page } from './shell/page.tsx';
import { Shell } from './shell/shell.tsx';
import { Empty, Problem } from './ui/parts.tsx';

const root = createRootRoute({
  component: Shell,
  notFoundComponent: NotFound,
  errorComponent: ({ error }) => <Problem error={error} onRetry={() => location.reload()} />,
});

const routes = [
  createRoute({
    getParentRoute: () => root,
    path: '/',
    beforeLoad: () => {
      redirect({ to: '/runs', throw: true });
    },
  }),
  createRoute({
    ...{ getParentRoute: () => root, path: '/runs' },
    validateSearch: (given) => searchOf(given, ['status', 'flow', 'code', 'user', 'since', 'parent', 'q']),
    component: lazyRouteComponent(() => import('./runs/runs-page.tsx'), 'RunsPage'),
  }),
  createRoute({
    ...{ getParentRoute: () => root, path: '/runs/$run' },
    validateSearch: (given) => searchOf(given, ['at', 'node', 'tab', 'call']),
    component: lazyRouteComponent(() => import('./run/run-page.tsx'), 'RunPage'),
  }),
  createRoute({
    ...{ getParentRoute: () => root, path: '/runs/$run/compare/$other' },
    validateSearch: (given) => searchOf(given, ['at', 'node']),
    component: lazyRouteComponent(() => import('./compare/compare-page.tsx'), 'ComparePage'),
  }),
  createRoute({
    ...{ getParentRoute: () => root, path: '/inbox' },
    validateSearch: (given) => searchOf(given, ['q', 'show']),
    component: lazyRouteComponent(() => import('./inbox/inbox-page.tsx'), 'InboxPage'),
  }),
  createRoute({
    ...{ getParentRoute: () => root, path: '/flows' },
    component: lazyRouteComponent(() => import('./flows/flows-page.tsx'), 'FlowsPage'),
  }),
  createRoute({
    ...{ getParentRoute: () => root, path: '/flows/$flow' },
    validateSearch: (given) => searchOf(given, ['tab', 'hash']),
    component: lazyRouteComponent(() => import('./flows/flow-page.tsx'), 'FlowPage'),
  }),
  createRoute({
    ...{ getParentRoute: () => root, path: '/health' },
    validateSearch: (given) => searchOf(given, ['since']),
    component: lazyRouteComponent(() => import('./health/health-page.tsx'), 'HealthPage'),
  }),
  createRoute({
    ...{ getParentRoute: () => root, path: '/audit' },
    component: lazyRouteComponent(() => import('./audit/audit-page.tsx'), 'AuditPage'),
  }),
];

const router = createRouter({ routeTree: root.addChildren(routes), defaultPreload: 'intent', scrollRestoration: true });

export function App(): ReactElement {
  return (
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  );
}

function NotFound(): ReactElement {
  return (
    <Page title="Not found">
      <Empty icon="search" title="There is no such page">
        The address is wrong, or it is of another version of Sluice.
      </Empty>
    </Page>
  );
}
