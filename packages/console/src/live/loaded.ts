/** What is asked for once: a result, or why there is none. */
import { useEffect, useState } from "preact/hooks";

export interface Loaded<Result> {
  readonly result?: Result | undefined;
  readonly error?: unknown;
}

/** Asks again when `key` or `source` changes; an undefined key asks nothing. */
export function useLoaded<Result>(
  load: (signal: AbortSignal) => Promise<Result>,
  key: string | undefined,
  source?: unknown,
): Loaded<Result> {
  const [state, setState] = useState<Loaded<Result> & { readonly key?: string }>({});
  useEffect(() => {
    if (key === undefined) return;
    const leaving = new AbortController();
    load(leaving.signal).then(
      (result) => {
        if (!leaving.signal.aborted) setState({ key, result });
      },
      (error: unknown) => {
        if (!leaving.signal.aborted) setState({ key, error });
      },
    );
    return () => leaving.abort();
  }, [key, source]);
  return state.key === key ? state : {};
}
