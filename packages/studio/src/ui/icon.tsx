/** Icons of 16 points, drawn with one line. */
import type { ReactElement } from 'react';

const PATHS = {
  inbox:
    'M2 9.5 3.8 3.8A1 1 0 0 1 4.75 3h6.5a1 1 0 0 1 .95.8L14 9.5M2 9.5V12a1 1 0 0 0 1 1h10a1 1 0 0 0 1-1V9.5M2 9.5h3.5l1 1.5h3l1-1.5H14',
  runs: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  flows: 'M4 2.5v11M4 6.5h5a3 3 0 0 1 3 3v4',
  health: 'M1.5 8.5h3l2-5 3 9 2-4h3',
  audit: 'M8 1.8 13 3.5v4.2c0 3-2 5.4-5 6.5-3-1.1-5-3.5-5-6.5V3.5zM5.7 8l1.6 1.6 3-3.2',
  check: 'm3.5 8.5 3 3 6-7',
  cross: 'm4 4 8 8m0-8-8 8',
  shield: 'M8 1.8 13 3.5v4.2c0 3-2 5.4-5 6.5-3-1.1-5-3.5-5-6.5V3.5z',
  ring: 'M8 2a6 6 0 1 1-6 6',
  circle: 'M8 3.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9',
  half: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M8 5v4M8 11v.2',
  person: 'M8 2.2a2.6 2.6 0 1 1 0 5.2 2.6 2.6 0 0 1 0-5.2M3 13.5c.4-2.6 2.3-4 5-4s4.6 1.4 5 4',
  undo: 'M6 3 3 6l3 3M3 6h6a4 4 0 0 1 0 8H6.5',
  dash: 'M4 8h8',
  clock: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2M8 4.800V8l2.2 1.5',
  play: 'M5 3.500v9L12.5 8z',
  pause: 'M5.5 3.500v9M10.5 3.500v9',
  agent:
    'M4.5 5.500h7A1.5 1.5 0 0 1 13 7v4.500a1.5 1.5 0 0 1-1.5 1.500h-7A1.5 1.5 0 0 1 3 11.500V7a1.5 1.5 0 0 1 1.5-1.500M8 5.500v-3M6 8.700v1M10 8.700v1',
  tool: 'M13.3 4.700a3.4 3.4 0 0 1-4.6 4.100L4.9 12.600a1.1 1.1 0 0 1-1.6-1.600l3.8-3.800a3.4 3.4 0 0 1 4.1-4.600L9.3 4.500l2.2 2.200z',
  retry: 'M13 8a5 5 0 1 1-1.6-3.700M13 2v3h-3',
  flag: 'M4 14V2.500h8l-1.5 3L12 8.500H4',
  branch: 'M4.5 2v12M4.5 10c0-3 7-1.5 7-6M11.5 4V2.5',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  fit: 'M2.5 6V3.500a1 1 0 0 1 1-1H6M10 2.500h2.500a1 1 0 0 1 1 1V6M13.5 10v2.500a1 1 0 0 1-1 1H10M6 13.500H3.500a1 1 0 0 1-1-1V10',
  search: 'M7 2.500a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9M10.5 10.500l3 3',
  left: 'm9.5 3.5-4 4.5 4 4.5',
  right: 'm6.5 3.5 4 4.5-4 4.5',
  down: 'm3.5 6 4.5 4 4.5-4',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  compare: 'M2 5h7M5.5 2v6M9 12h5',
  fork: 'M5 2v12M5 9c0-3 6-1 6-5.500M9.5 4 11 2.5 12.5 4',
  menu: 'M2.5 4.500h11M2.5 8h11M2.5 11.500h11',
  sun: 'M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6M8 1.500V3M8 13v1.500M1.5 8H3M13 8h1.500M3.4 3.400l1 1M11.6 11.600l1 1M12.6 3.400l-1 1M4.4 11.600l-1 1',
  moon: 'M13.5 9.500A6 6 0 0 1 6.5 2.500a6 6 0 1 0 7 7',
  screen: 'M2.5 3h11v8h-11zM6 13.500h4',
  file: 'M4 2h5.500L12.5 5v9H4zM9.5 2v3h3',
  copy: 'M5.5 5.500h8v8h-8zM3 10.500V3a.5.5 0 0 1 .5-.5h7',
  note: 'M3 3h10v7.500H8L5 13.500v-3H3z',
  diamond: 'M8 2.5 13.5 8 8 13.5 2.5 8z',
  split: 'M8 2v4M8 6 3.5 10v4M8 6l4.5 4v4',
  warning: 'M8 2.5 14 13H2zM8 6.500v3M8 11.300v.2',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, className = '' }: { readonly name: IconName; readonly className?: string }): ReactElement {
  return (
    <svg
      className={`icon ${name === 'ring' ? 'spin ' : ''}${className}`}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === 'more' ? 2.2 : 1.5}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

export function Mark(): ReactElement {
  return (
    <svg
      width="18"
      height="18"
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="2"
      strokeLinecap="round"
      aria-hidden="true"
    >
      <path d="M3.5 3v14M16.5 3v14M3.5 10h13M10 6.500v7" />
    </svg>
  );
}
