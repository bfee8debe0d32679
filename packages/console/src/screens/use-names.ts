/** The names of all objects of a kind: a page at first, and the others when they are wanted. */
import type { Client, PartialObjectMetadata, Resource } from "@kcp-ts/sdk/client";
import { useEffect, useRef, useState } from "preact/hooks";

export interface Named {
  readonly name: string;
  readonly namespace?: string | undefined;
}

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
  /** Whether more than a page is wanted. */
  readonly wantsAll: boolean;
}

export function useNames({ client, resource, namespace, wantsAll }: NamesOptions): Names {
  const [found, setFound] = useState<Names & { readonly key?: string }>(none);
  const progress = useRef<Progress | undefined>(undefined);
  const { group, resource: plural } = resource ?? {};
  const key = JSON.stringify([client.basePath, group, plural, namespace]);
  useEffect(() => {
    if (resource === undefined) return;
    if (progress.current?.key !== key)
      progress.current = { key, names: [], next: undefined, isBegun: false };
    const leaving = new AbortController();
    const follow = async (now: Progress) => {
      while (!now.isBegun || (wantsAll && now.next !== undefined && now.names.length < namesMax)) {
        const limit = now.isBegun ? nextPage : firstPage;
        const { signal } = leaving;
        const page = await client
          .resource(resource)
          .listMetadata({ namespace, limit, continue: now.next, signal });
        now.isBegun = true;
        now.next = page.metadata.continue || undefined;
        now.names.push(...page.items.map(nameOf));
        const remaining =
          now.next === undefined ? 0 : Math.max(1, page.metadata.remainingItemCount ?? 0);
        const isLoading = wantsAll && remaining > 0 && now.names.length < namesMax;
        setFound({ key, names: now.names, remaining, isLoading });
      }
    };
    follow(progress.current).catch((error: unknown) => {
      if (!leaving.signal.aborted) setFound((last) => ({ ...last, key, isLoading: false, error }));
    });
    return () => leaving.abort();
  }, [key, wantsAll]);
  return found.key === key ? found : { ...none, isLoading: resource !== undefined };
}

function nameOf({ metadata: { name, namespace } }: PartialObjectMetadata): Named {
  return { name, namespace };
}
