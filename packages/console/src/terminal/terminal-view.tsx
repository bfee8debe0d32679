/**
 * TerminalView draws the lines of a screen that are seen, as text that can be selected and read
 * aloud; and takes what is typed.
 */
import { useEffect, useReducer, useRef } from "preact/hooks";
import { sequenceOf } from "./keys.ts";
import type { Screen, Span } from "./screen.ts";

interface TerminalViewProps {
  readonly screen: Screen;
  readonly label: string;
  /** Undefined where nothing can be typed. */
  readonly onInput?: ((text: string) => void) | undefined;
  readonly onResize?: ((columns: number, rows: number) => void) | undefined;
}

const columnsMax = 400;
const rowsMax = 200;

/** Makes the screen as large as its place, by the size of one character. */
function useFitting(
  { screen, onResize }: TerminalViewProps,
  place: { readonly current: HTMLElement | null },
  character: { readonly current: HTMLElement | null },
) {
  useEffect(() => {
    const [outer, one] = [place.current, character.current];
    if (outer === null || one === null) return;
    const fit = () => {
      const { width, height } = one.getBoundingClientRect();
      if (width === 0 || outer.clientHeight === 0) return;
      const columns = Math.floor((outer.clientWidth - 24) / (width / 10));
      const rows = Math.floor((outer.clientHeight - 16) / height);
      screen.resize(
        Math.min(columnsMax, Math.max(20, columns)),
        Math.min(rowsMax, Math.max(4, rows)),
      );
      onResize?.(screen.columns, screen.rows);
    };
    const observer = new ResizeObserver(fit);
    observer.observe(outer);
    fit();
    return () => observer.disconnect();
  }, [screen]);
}

/** Draws once a frame, however much is written. */
function useChanges(screen: Screen) {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const draw = () => redraw(undefined);
  useEffect(() => {
    let frame = 0;
    const stop = screen.onChange(() => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        draw();
      });
    });
    return () => {
      stop();
      cancelAnimationFrame(frame);
    };
  }, [screen]);
  return draw;
}

export function TerminalView(props: TerminalViewProps) {
  const { screen, label, onInput } = props;
  const place = useRef<HTMLDivElement>(null);
  const character = useRef<HTMLSpanElement>(null);
  const input = useRef<HTMLTextAreaElement>(null);
  const draw = useChanges(screen);
  useFitting(props, place, character);
  const isTyping = onInput !== undefined;
  useEffect(() => {
    if (isTyping) input.current?.focus();
  }, [isTyping]);
  const scroll = (lines: number) => {
    screen.scroll(lines);
    draw();
  };
  const onKey = (event: KeyboardEvent) => {
    const page = { PageUp: -screen.rows, PageDown: screen.rows, Home: -1e9, End: 1e9 }[event.key];
    if (page !== undefined && (onInput === undefined || event.shiftKey)) scroll(page);
    else {
      const text = onInput && sequenceOf(event, screen.hasApplicationCursorKeys);
      if (text === undefined) return;
      onInput?.(text);
    }
    event.preventDefault();
  };
  const rows = Array.from({ length: screen.rows }, (_, row) => row);
  return (
    <div
      class="terminal"
      ref={place}
      role="group"
      aria-label={label}
      tabIndex={onInput === undefined ? 0 : -1}
      onKeyDown={onKey}
      onWheel={(event) => scroll(Math.sign(event.deltaY) * 3)}
      onMouseUp={() => {
        if (getSelection()?.isCollapsed === true) input.current?.focus();
      }}
    >
      <span class="character" ref={character} aria-hidden="true">
        0000000000
      </span>
      <div class="lines">
        {rows.map((row) => (
          <div key={row}>{screen.spans(row, onInput !== undefined).map(drawnSpan)}</div>
        ))}
      </div>
      {onInput === undefined ? null : (
        <textarea
          ref={input}
          aria-label={`Type to ${label}`}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          onInput={(event) => {
            onInput(event.currentTarget.value);
            event.currentTarget.value = "";
          }}
        />
      )}
    </div>
  );
}

function drawnSpan({ text, classes, color, background }: Span, at: number) {
  const style = {
    ...(color === undefined ? {} : { color }),
    ...(background === undefined ? {} : { background }),
  };
  return (
    <span key={at} class={classes} style={style}>
      {text}
    </span>
  );
}
