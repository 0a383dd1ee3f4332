/** A list of which only the rows in sight are in the page, however long it is. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, type ReactElement, type ReactNode } from 'react';

interface RowsProps<Item> {
  readonly label: string;
  readonly items: readonly Item[];
  readonly keyOf: (item: Item, index: number) => string;
  readonly height: number;
  /** Rows have heights of their own; `height` is a guess. */
  readonly measured?: boolean;
  readonly selected?: number | undefined;
  readonly className?: string;
  readonly render: (item: Item, index: number) => ReactNode;
  /** Called when the last row comes into sight. */
  readonly onEnd?: (() => void) | undefined;
  /** Called when the first row comes into sight. */
  readonly onStart?: (() => void) | undefined;
  /** Stays at the end while rows are added there. */
  readonly follows?: boolean;
}

export function Rows<Item>({
  label,
  items,
  keyOf,
  height,
  measured = false,
  selected,
  ...more
}: RowsProps<Item>): ReactElement {
  const { className = '', render, onEnd, onStart, follows = false } = more;
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    getItemKey: (index) => keyOf(items[index] as Item, index),
    overscan: 8,
  });
  const shown = rows.getVirtualItems();
  const [first, last] = [shown[0]?.index, shown.at(-1)?.index];
  useEffect(() => {
    if (last !== undefined && last >= items.length - 1) onEnd?.();
    if (first === 0) onStart?.();
  }, [first, last, items.length, onEnd, onStart]);
  useEffect(() => {
    if (selected !== undefined && selected >= 0) rows.scrollToIndex(selected, { align: 'auto' });
  }, [rows, selected]);
  useEffect(() => {
    if (follows && items.length > 0) rows.scrollToIndex(items.length - 1, { align: 'end' });
  }, [rows, follows, items.length]);
  return (
    <div ref={box} className={`rows ${className}`}>
      <ul aria-label={label} style={{ height: rows.getTotalSize() }}>
        {shown.map(({ index, key, start }) => (
          <li
            key={key}
            data-index={index}
            ref={measured ? rows.measureElement : undefined}
            aria-setsize={items.length}
            aria-posinset={index + 1}
            style={{ transform: `translateY(${start}px)`, ...(measured ? {} : { height }) }}
          >
            {render(items[index] as Item, index)}
          </li>
        ))}
      </ul>
    </div>
  );
}
