/** The picture of the document with the run on it. The camera belongs to the reader; it moves by itself only while it follows. */
import {
  Background,
  BackgroundVariant,
  ReactFlow,
  ViewportPortal,
  useReactFlow,
  type Node,
  type NodeProps,
  type Viewport,
} from '@xyflow/react';
import { harmless } from '@sluice-internal/wire';
import { useQuery } from '@tanstack/react-query';
import { memo, useEffect, useMemo, useRef, type ReactElement } from 'react';
import { pictureQuery } from '../data/server.ts';
import type { PlacedPicture, ShapeKind } from '../data/types.ts';
import { useNow } from '../ui/clock.ts';
import { duration, plural } from '../ui/format.ts';
import { Icon, type IconName } from '../ui/icon.tsx';
import { Button, Loading, Problem } from '../ui/parts.tsx';
import { nodeState } from '../ui/states.ts';
import { useRun } from './context.tsx';
import { Edges } from './edges.tsx';
import { framesOf } from './frames.ts';
import { partsOf } from './graph-visits.ts';
import { refusalsOf, shownEdges, shownNodes, type ShownNode } from './graph-model.ts';

type CardNode = Node<{
  readonly shown: ShownNode;
  readonly isSelected: boolean;
  readonly select: () => void;
  readonly go: (seq: number) => void;
}>;

const TYPES = { card: Card };
const MARGIN = 24;

export function Graph(): ReactElement {
  const { report } = useRun();
  const { data, error, refetch } = useQuery(pictureQuery(report.flow, report.hash));
  const latest = useQuery({ ...pictureQuery(report.flow, undefined), enabled: error !== null });
  const picture = data ?? latest.data;
  return (
    <section className="graph" aria-label="Graph">
      {picture !== undefined && <Drawn picture={picture} isOther={data === undefined} />}
      {picture === undefined &&
        (error === null ? <Loading what="the graph" /> : <Problem error={error} onRetry={() => void refetch()} />)}
    </section>
  );
}

function Drawn({ picture, isOther }: { readonly picture: PlacedPicture; readonly isOther: boolean }): ReactElement {
  const { view, tip, events, at, node: selected, select, go } = useRun();
  const refused = useMemo(() => refusalsOf(events, at), [events, at]);
  const parts = useMemo(() => partsOf(picture, tip ?? view), [picture, tip, view]);
  const shown = useMemo(() => shownNodes(picture, view, parts, refused), [picture, view, parts, refused]);
  const edges = useMemo(() => shownEdges(picture, view, shown, parts), [picture, view, shown, parts]);
  const frames = useMemo(() => framesOf(picture.nodes), [picture]);
  const nodes = useMemo(
    () =>
      shown.map((each): CardNode => ({
        ...{ id: each.node.id, type: 'card', position: { x: each.node.x, y: each.node.y } },
        ...{ width: each.node.w, height: each.node.h, draggable: false, selectable: false, focusable: false },
        data: {
          ...{ shown: each, isSelected: each.name === selected, go },
          select: () => select(each.name === selected ? undefined : each.name),
        },
      })),
    [shown, selected, select, go],
  );
  return (
    <ReactFlow
      nodes={nodes}
      edges={NO_EDGES}
      nodeTypes={TYPES}
      minZoom={0.1}
      maxZoom={2}
      proOptions={{ hideAttribution: true }}
      nodesConnectable={false}
      deleteKeyCode={null}
      disableKeyboardA11y
      preventScrolling
      panOnScroll
      zoomOnScroll={false}
      zoomActivationKeyCode={['Meta', 'Control']}
    >
      <Background variant={BackgroundVariant.Dots} gap={20} size={1} color="var(--line)" />
      <ViewportPortal>
        <Edges edges={edges} frames={frames} width={picture.width} height={picture.height} />
      </ViewportPortal>
      <Camera picture={picture} shown={shown} />
      <div className="graph-legend" aria-hidden="true">
        {isOther && <span className="ink-waiting">the flow has changed since</span>}
        <span>
          <i className="taken" /> taken
        </span>
        <span>
          <i className="possible" /> possible
        </span>
      </div>
    </ReactFlow>
  );
}

const NO_EDGES: [] = [];

/** Fits the picture at the start, and follows what runs while the reader wants that. */
function Camera({
  picture,
  shown,
}: {
  readonly picture: PlacedPicture;
  readonly shown: readonly ShownNode[];
}): ReactElement {
  const { follow, setFollow, isAtEnd, view } = useRun();
  const flow = useReactFlow();
  const box = useRef<HTMLDivElement>(null);
  const fit = useMemo(
    () => (): void => {
      const { clientWidth = 0, clientHeight = 0 } = box.current?.closest('.graph') ?? {};
      void flow.setViewport(fitted(picture, clientWidth, clientHeight));
    },
    [flow, picture],
  );
  useEffect(fit, [fit]);
  useEffect(() => {
    const area = box.current?.closest('.graph');
    if (area === null || area === undefined) return undefined;
    const sizes = new ResizeObserver(fit);
    sizes.observe(area);
    return () => sizes.disconnect();
  }, [fit]);
  const active = shown
    .filter(({ state }) => state === 'running' || state === 'waiting')
    .map(({ node }) => node.id)
    .join();
  useEffect(() => {
    if (!follow || !isAtEnd || active === '' || view.state !== 'running') return;
    const ids = active.split(',');
    const seen = shown
      .filter(({ node }) => ids.includes(node.id))
      .every(({ node }) => isInSight(node, flow.getViewport(), box.current));
    if (!seen)
      void flow.fitView({
        nodes: ids.map((id) => ({ id })),
        maxZoom: flow.getZoom(),
        minZoom: flow.getZoom(),
        duration: 200,
      });
  }, [follow, isAtEnd, active, view.state, flow, shown]);
  return (
    <div ref={box} className="graph-tools">
      <Button icon="plus" aria-label="Zoom in" onClick={() => void flow.zoomIn()} />
      <Button icon="minus" aria-label="Zoom out" onClick={() => void flow.zoomOut()} />
      <Button icon="fit" aria-label="Show all" onClick={fit} />
      {view.state === 'running' && (
        <Button aria-pressed={follow} className={follow ? 'is-on' : ''} onClick={() => setFollow(!follow)}>
          Follow
        </Button>
      )}
    </div>
  );
}

/** The whole picture, not larger than life; a tall one begins at its top. */
function fitted({ width, height }: PlacedPicture, wide: number, high: number): Viewport {
  const least = 0.55;
  const zoom = Math.min(1, (wide - 2 * MARGIN) / width, (high - 2 * MARGIN - 20) / height);
  const used = Math.max(Math.min(least, (wide - 2 * MARGIN) / width), zoom);
  const y = height * used > high - 2 * MARGIN ? MARGIN : Math.max(MARGIN - 8, (high - height * used) / 2 - 12);
  return { x: (wide - width * used) / 2, y, zoom: used };
}

function isInSight(
  { x, y, w, h }: ShownNode['node'],
  { x: left, y: top, zoom }: Viewport,
  inside: Element | null,
): boolean {
  const { clientWidth = 0, clientHeight = 0 } = inside?.closest('.graph') ?? {};
  const [from, above] = [x * zoom + left, y * zoom + top];
  return from >= 0 && above >= 0 && from + w * zoom <= clientWidth && above + h * zoom <= clientHeight - 40;
}

const KIND_ICONS: { readonly [kind in ShapeKind]: IconName } = {
  ...{ start: 'circle', end: 'circle', agent: 'agent', tool: 'tool', decision: 'diamond' },
  ...{ approval: 'person', parallel: 'split', join: 'branch', terminal: 'flag' },
};

function CardBody({ data }: NodeProps<CardNode>): ReactElement {
  const { shown, isSelected, select, go } = data;
  const { node, state, visits } = shown;
  const { tone, icon, word } = nodeState(state);
  if (node.kind === 'start' || node.kind === 'end') return <span className={`point ink-${tone} state-${state}`} />;
  if (node.kind === 'join')
    return (
      <span className={`pill state-${state}`}>
        {state === 'done' && <Icon name="check" className="ink-ok" />}
        {harmless(node.detail ?? node.label)}
      </span>
    );
  const isIdle = state === 'idle';
  return (
    <>
      <button
        type="button"
        className={`card-node state-${state}`}
        aria-label={labelOf(shown, word)}
        aria-pressed={isSelected}
        title={node.description ?? undefined}
        onClick={select}
      >
        <span aria-hidden="true" className={`card-icon is-${tone}`}>
          <Icon name={isIdle ? KIND_ICONS[node.kind] : icon} />
        </span>
        <span aria-hidden="true" className="card-text">
          <span className="card-name ellipsis">{harmless(node.label)}</span>
          <span className="card-detail ellipsis">
            {harmless(state === 'waiting' ? 'waits for a person' : (node.detail ?? ''))}
          </span>
        </span>
        <span aria-hidden="true" className="card-side">
          <Took shown={shown} />
          {shown.refused > 0 ? (
            <span className="tag is-failed">{shown.refused} refused</span>
          ) : (
            shown.retries > 0 && <span className="tag is-waiting">{plural(shown.retries, 'retry', 'retries')}</span>
          )}
        </span>
      </button>
      {shown.count > 1 && <Dots id={shown.name} visits={visits} count={shown.count} go={go} />}
    </>
  );
}

function labelOf({ name, count, retries, refused }: ShownNode, word: string): string {
  const more = [
    ...(count > 1 ? [plural(count, 'visit')] : []),
    ...(retries > 0 ? [plural(retries, 'retry', 'retries')] : []),
    ...(refused > 0 ? [`${refused} refused`] : []),
  ];
  return harmless([name, word, ...more].join(', '));
}

const Memoised = memo(CardBody, (before, after) => before.data === after.data);
function Card(props: NodeProps<CardNode>): ReactElement {
  return <Memoised {...props} />;
}

function Took({ shown: { ms, since } }: { readonly shown: ShownNode }): ReactElement | null {
  if (since !== null) return <Elapsed since={since} />;
  return ms === null || ms < 1 ? null : <span className="card-time num">{duration(ms)}</span>;
}

function Elapsed({ since }: { readonly since: number }): ReactElement {
  const { view, isAtEnd } = useRun();
  const clock = useNow();
  const now = isAtEnd ? clock : view.at;
  return <span className="card-time num">{duration(Math.max(0, now - since))}</span>;
}

const DOTS_MAX = 36;

/** A dot for each visit. Of very many, those with trouble and the last ones. */
function Dots({
  id,
  visits,
  count,
  go,
}: {
  readonly id: string;
  readonly visits: readonly ShownNode['visits'][number][];
  readonly count: number;
  readonly go: (seq: number) => void;
}): ReactElement {
  const kept =
    visits.length <= DOTS_MAX
      ? visits
      : visits.filter(({ state }, at) => state === 'failed' || at >= visits.length - 12);
  return (
    <div className="dots" role="group" aria-label={`${id}, ${plural(count, 'visit')}`}>
      {kept.map(({ number, state, seq }) => (
        <button
          key={number}
          type="button"
          className={`dot state-${state}`}
          aria-label={`${id}, visit ${number}, ${state}`}
          title={`visit ${number}, ${state}`}
          onClick={() => go(seq)}
        />
      ))}
      <span className="dots-count num" aria-hidden="true">
        {count}
      </span>
    </div>
  );
}
