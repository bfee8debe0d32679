/**
 * The order of API versions, best first: v10, v2, v1, v2beta1, v1beta2, v1alpha1, then names of
 * other forms in alphabetical order.
 */
const versionPattern = /^v(\d+)(?:(alpha|beta)(\d+))?$/;

/** Negative when `a` comes before `b`. */
export function compareVersionPriority(a: string, b: string): number {
  if (a === b) return 0;
  const left = parse(a);
  const right = parse(b);
  if (left === undefined && right === undefined) return a < b ? -1 : 1;
  if (left === undefined) return 1;
  if (right === undefined) return -1;
  return right.stability - left.stability || right.major - left.major || right.minor - left.minor;
}

interface KubeVersion {
  readonly major: number;
  readonly stability: 0 | 1 | 2;
  readonly minor: number;
}

function parse(version: string): KubeVersion | undefined {
  const match = versionPattern.exec(version);
  if (match === null) return undefined;
  const major = Number(match[1]);
  const minor = match[3] === undefined ? 0 : Number(match[3]);
  // Numbers that Go could not hold make a version of another form.
  if (!Number.isSafeInteger(major) || !Number.isSafeInteger(minor)) return undefined;
  return { major, minor, stability: match[2] === undefined ? 2 : match[2] === "beta" ? 1 : 0 };
}
