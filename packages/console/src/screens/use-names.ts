/** The names of all objects of a kind: a page at first, and the others when they are wanted. */
import type { Client, Resource } from "@kcp-ts/sdk/client";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Named, namePage } from "./name-pages.ts";

export interface Names {
  readonly names: readonly Named[];
  /** About how many are not there yet. */
  readonly remaining: number;
  /** Whether more of them are on their way. */
  readonly isLoading: boolean;
  readonly error?: unknown;
}

const firstPage = 500;
const nextPage = 2000;
/** Of one kind: a name takes some fifty bytes while it is looked at. */
const namesMax = 250_000;
const none: Names = { names: [], remaining: 0, isLoading: false };

interface Progress {
  readonly key: string;
  readonly names: Named[];
  next: string | undefined;
  isBegun: boolean;
}

interface NamesOptions {
  readonly client: Client;
  /** Undefined while it is not known, and where nothing is asked. */
  readonly resource: Resource | undefined;
  readonly namespace?: string | undefined;
  /** Pages are loaded until so many names are wanted; undefined: one page. */
  readonly search?: NameSearch | undefined;
}

export interface NameSearch {
  readonly text: string;
  readonly matches: (named: Named) => boolean;
  readonly wanted: number;
}

export function useNames({ client, resource, namespace, search }: NamesOptions): Names {
  const [found, setFound] = useState<Names & { readonly key?: string }>(none);
  const progress = useRef<Progress | undefined>(undefined);
  const { group, resource: plural } = resource ?? {};
  const key = JSON.stringify([client.basePath, group, plural, namespace]);
  useEffect(() => {
    if (resource === undefined) return;
    if (progress.current?.key !== key)
      progress.current = { key, names: [], next: undefined, isBegun: false };
    const leaving = new AbortController();
    const { signal } = leaving;
    const matching = (names: readonly Named[]) =>
      search === undefined ? 0 : names.filter(search.matches).length;
    const follow = async (now: Progress) => {
      let left = (search?.wanted ?? 0) - matching(now.names);
      const isOpen = () => now.next !== undefined && left > 0 && now.names.length < namesMax;
      while (!now.isBegun || isOpen()) {
        const limit = now.isBegun ? nextPage : firstPage;
        const options = { namespace, limit, continue: now.next, signal };
        const { names, next, remaining } = await namePage(client, resource, options);
        now.isBegun = true;
        now.next = next;
        now.names.push(...names);
        left -= matching(names);
        setFound({ key, names: now.names, remaining, isLoading: isOpen() });
      }
    };
    follow(progress.current).catch((error: unknown) => {
      if (!leaving.signal.aborted) setFound((last) => ({ ...last, key, isLoading: false, error }));
    });
    return () => leaving.abort();
  }, [key, search?.text]);
  return found.key === key ? found : { ...none, isLoading: resource !== undefined };
}
