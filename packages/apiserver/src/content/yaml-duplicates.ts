/** Finds duplicate keys in a mapping of YAML, with go-yaml's message for each. */
import { EVENT_ID, type Event, getScalarValue, NOT_RESOLVED, SCALAR_STYLE } from "js-yaml";
import { yamlReadSchema } from "./yaml-scalars.ts";

/** The number of duplicate keys that are reported. */
const duplicatesMax = 100;

interface Collection {
  /** The keys so far; undefined in a sequence. */
  readonly names: Set<string> | undefined;
  /** The key whose value comes next. */
  name: string | undefined;
}

export function duplicatesOf(text: string, events: readonly Event[]): string[] {
  const found: string[] = [];
  const lineOf = lineCounter(text);
  const open: Collection[] = [];
  for (const event of events) {
    if (found.length === duplicatesMax) break;
    if (event.type === EVENT_ID.POP) {
      open.pop();
      continue;
    }
    const parent = open.at(-1);
    if (event.type !== EVENT_ID.DOCUMENT && parent?.names !== undefined)
      visit(event, parent, parent.names);
    if (event.type === EVENT_ID.MAPPING) open.push({ names: new Set(), name: undefined });
    else if (event.type === EVENT_ID.SEQUENCE || event.type === EVENT_ID.DOCUMENT)
      open.push({ names: undefined, name: undefined });
  }
  return found;

  /** Keys and values alternate; the reported line is that of the value. */
  function visit(event: Event, parent: Collection, names: Set<string>): void {
    if (parent.name === undefined) {
      parent.name = nameOf(event, text);
      return;
    }
    const { name } = parent;
    parent.name = undefined;
    if (name !== mergeName && names.has(name))
      found.push(`line ${lineOf(startOf(event))}: key ${name} already set in map`);
    names.add(name);
  }
}

const mergeName = '"<<"';

/** The key as Go prints it: quoted if it is a string. */
function nameOf(event: Event, text: string): string {
  if (event.type !== EVENT_ID.SCALAR) return `#${startOf(event)}`;
  const source = getScalarValue(text, event);
  const isPlain = event.style === SCALAR_STYLE.PLAIN && event.tagStart < 0;
  const value = isPlain ? resolved(source) : source;
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

function resolved(source: string): unknown {
  for (const tag of yamlReadSchema.tags) {
    if (tag.nodeKind !== "scalar" || !tag.implicit) continue;
    const value = tag.resolve(source, false, tag.tagName);
    if (value !== NOT_RESOLVED) return value;
  }
  return source;
}

function startOf(event: Event): number {
  if (event.type === EVENT_ID.SCALAR) return event.valueStart;
  if (event.type === EVENT_ID.ALIAS) return event.anchorStart;
  return event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE ? event.start : 0;
}

/** Lines from 1 on; called for increasing positions. */
function lineCounter(text: string): (at: number) => number {
  let line = 1;
  let from = 0;
  return (at) => {
    for (let end = text.indexOf("\n", from); end >= 0 && end < at; end = text.indexOf("\n", from)) {
      line++;
      from = end + 1;
    }
    return line;
  };
}
