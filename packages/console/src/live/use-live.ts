/**
 * Runs a source while a component is shown and its tab is visible: a tab in the background holds no
 * watches. Changes are drawn once a frame, however many there are.
 */
import { systemClock } from "@kcp-ts/machinery/base";
import { useEffect, useReducer, useRef } from "preact/hooks";
import { addSource, type LiveSource } from "./connection.ts";

const hiddenMsMax = 20_000;

interface Shown<Source> {
  readonly key: string;
  readonly source: Source;
}

/** `key` names what is shown: another key is another source. */
export function useLive<Source extends LiveSource>(
  make: (changed: () => void) => Source,
  key: string,
): Source | undefined {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const shown = useRef<Shown<Source> | undefined>(undefined);
  useEffect(() => {
    let frame = 0;
    let stop: AbortController | undefined;
    const begin = () => {
      if (stop !== undefined) return;
      const stopping = new AbortController();
      stop = stopping;
      const changed = () => {
        if (stopping.signal.aborted) return;
        // What was there stays until the new source knows as much.
        if (source.health.hasSynced) shown.current = { key, source };
        frame ||= requestAnimationFrame(() => {
          frame = 0;
          redraw(undefined);
        });
      };
      const source = make(changed);
      if (shown.current?.key !== key) shown.current = { key, source };
      const remove = addSource(source);
      source.run(stopping.signal).then(remove, remove);
      changed();
    };
    const end = () => {
      stop?.abort();
      stop = undefined;
    };
    const follow = () => {
      if (document.visibilityState === "visible") begin();
      else
        systemClock.schedule(hiddenMsMax, () => {
          if (document.visibilityState !== "visible") end();
        });
    };
    begin();
    document.addEventListener("visibilitychange", follow);
    return () => {
      document.removeEventListener("visibilitychange", follow);
      cancelAnimationFrame(frame);
      end();
    };
  }, [key]);
  return shown.current?.key === key ? shown.current.source : undefined;
}
