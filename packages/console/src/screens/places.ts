/** Places that a text may mean. Pure. */
import { formatRoute } from "../navigation/index.ts";

export interface Place {
  readonly kind: string;
  readonly title: string;
  readonly address: string;
}

export const shownMax = 12;

export interface Matches<Item> {
  /** Those that begin with the text are first. */
  readonly shown: readonly Item[];
  /** How many match, with those that are not shown. */
  readonly count: number;
}

/** Whether a title in lower case has all words of the text. */
export function matcher(text: string): (title: string) => boolean {
  const words = text.toLowerCase().split(/\s+/);
  return (title) => words.every((word) => isPartOf(word, title));
}

/** Those whose titles have all words of the text. There may be very many: few of them are kept. */
export function matching<Item>(
  items: Iterable<Item>,
  titleOf: (item: Item) => string,
  text: string,
): Matches<Item> {
  const begin = text.toLowerCase();
  const matches = matcher(text);
  const [first, others]: [Item[], Item[]] = [[], []];
  let count = 0;
  for (const item of items) {
    const title = titleOf(item).toLowerCase();
    if (!matches(title)) continue;
    count++;
    const bucket = title.startsWith(begin) ? first : others;
    if (bucket.length < shownMax) bucket.push(item);
  }
  return { shown: [...first, ...others].slice(0, shownMax), count };
}

/** What is spelled first, and each place once. */
export function joined(...places: readonly (readonly Place[])[]): readonly Place[] {
  const addresses = new Set<string>();
  return places
    .flat()
    .filter(({ address }) => !addresses.has(address) && addresses.add(address))
    .slice(0, shownMax);
}

/** `deployment/we` is part of `deployment/shop/web`: the namespace may be left out. */
function isPartOf(word: string, title: string): boolean {
  if (title.includes(word)) return true;
  const [kind = "", name = "", more] = word.split("/");
  return more === undefined && word.includes("/") && title.startsWith(`${kind}/`)
    ? (title.split("/").at(-1) as string).includes(name)
    : false;
}

export interface Start {
  /** Of `root:org:te`: `root:org`. */
  readonly parent?: string | undefined;
  /** Of `deployment/` and `deployment/shop/we`: `deployment`. */
  readonly kind?: string | undefined;
  readonly namespace?: string | undefined;
}

/** What a text says of the places that it may become. */
export function startOf(text: string): Start {
  const path = /^([a-z0-9][a-z0-9-]*(?::[a-z0-9-]+)*):[a-z0-9-]*$/.exec(text);
  if (path !== null) return { parent: path[1] };
  const object = /^([a-z][a-z0-9.-]*)\/(?:([a-z0-9-]+)\/)?[^/\s]*$/.exec(text);
  return object === null ? {} : { kind: object[1], namespace: object[2] };
}

/** `root:org`, `deployment/web` and `deployment/shop/web` are places without being looked up. */
export function spelled(text: string, cluster: string): readonly Place[] {
  const [kind, ...rest] = text.split("/");
  const name = rest.at(-1);
  if (kind && name && rest.length <= 2) {
    const namespace = rest.length === 2 ? rest[0] : "default";
    const address = formatRoute({ screen: "object", cluster, resource: kind, namespace, name });
    return [{ kind: "object", title: [kind, namespace, name].join("/"), address }];
  }
  if (!/^[a-z0-9][a-z0-9-]*(?::[a-z0-9-]+)+$|^root$/.test(text)) return [];
  const address = formatRoute({ screen: "workspace", cluster: text });
  return [{ kind: "workspace", title: text, address }];
}
