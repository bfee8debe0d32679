/** Which versions of kcp work together: servers and agents at most one minor version apart. */
export interface VersionSkew {
  readonly isSupported: boolean;
  /** Minor versions by which the second is newer than the first. */
  readonly minors: number;
}

/** Undefined where one of them is no version: a build of its own, or an agent that reports none. */
export function versionSkew(first: string, second: string): VersionSkew | undefined {
  const [a, b] = [parse(first), parse(second)];
  if (a === undefined || b === undefined) return undefined;
  const minors = (b.major - a.major) * 1000 + (b.minor - a.minor);
  return { isSupported: Math.abs(minors) <= 1, minors };
}

/** kcp's own version in the gitVersion of a server: `v1.36.4+kcp-ts-v0.1.0`. */
export function kcpVersionOf(gitVersion: string): string | undefined {
  return /\+kcp-ts-v(\d+\.\d+\.\d+[\w.-]*)$/.exec(gitVersion)?.[1];
}

function parse(text: string): { readonly major: number; readonly minor: number } | undefined {
  const [, major, minor] = /^v?(\d{1,6})\.(\d{1,3})\.\d+/.exec(text) ?? [];
  return major === undefined ? undefined : { major: Number(major), minor: Number(minor) };
}
