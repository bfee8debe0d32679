import type { ObjectState, Texts } from "./history.ts";

/** Whether two states are one but for the revision, which a deletion changes. */
export function sameContent(a: ObjectState, b: ObjectState): boolean {
  return (
    a.uid === b.uid &&
    a.generation === b.generation &&
    sameTexts(a.labels, b.labels) &&
    sameTexts(a.spec, b.spec) &&
    sameTexts(a.status, b.status)
  );
}

export function sameState(a: ObjectState, b: ObjectState): boolean {
  return a.revision === b.revision && sameContent(a, b);
}

export function sameTexts(a: Texts, b: Texts): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

/** The members in order of their names: equal texts give equal lines. */
export function textsLine(texts: Texts): string {
  return Object.keys(texts)
    .sort()
    .map((name) => `${name}=${texts[name]}`)
    .join(",");
}

export function stateText({
  revision,
  uid,
  generation,
  spec,
  labels,
  status,
}: ObjectState): string {
  const parts = [
    `rv=${revision}`,
    `uid=${uid.slice(0, 8)}`,
    ...(generation === undefined ? [] : [`generation=${generation}`]),
    `spec{${textsLine(spec)}}`,
    `labels{${textsLine(labels)}}`,
    ...(Object.keys(status).length === 0 ? [] : [`status{${textsLine(status)}}`]),
  ];
  return parts.join(" ");
}
