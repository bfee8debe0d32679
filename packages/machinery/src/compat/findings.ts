/**
 * The findings of a comparison of two schemas, by path.
 *
 * `narrower` means that the common schema allows less than the existing one did; `incompatible`
 * that the two have no useful common schema; `unknown` that the comparison is undecidable, which
 * counts as incompatible.
 */
export interface Finding {
  readonly kind: "narrower" | "incompatible" | "unknown";
  /** The path: `.spec.template.containers[].ports`, or `.spec.labels{}` for the values of a map. */
  readonly path: string;
  readonly message: string;
}

/**
 * Further findings of a kind are only counted: a schema of ten thousand fields can differ in each.
 */
export const findingsMax = 200;

export class Findings {
  readonly list: Finding[] = [];
  /** Including findings that are not in the list. */
  readonly counts = { narrower: 0, incompatible: 0, unknown: 0 };

  add(kind: Finding["kind"], path: string, message: string): void {
    if (++this.counts[kind] <= findingsMax) this.list.push({ kind, path, message });
  }

  narrower(path: string, message: string): void {
    this.add("narrower", path, message);
  }

  incompatible(path: string, message: string): void {
    this.add("incompatible", path, message);
  }

  unknown(path: string, message: string): void {
    this.add("unknown", path, message);
  }
}
