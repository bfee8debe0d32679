/** The object, which counts how often a member of it, or of any part of it, is read. */
export function countedReads<Value extends object>(
  value: Value,
): { readonly object: Value; readonly reads: () => number } {
  let reads = 0;
  const wrapped = new WeakMap<object, object>();
  const wrap = (part: unknown): unknown => {
    if (typeof part !== "object" || part === null) return part;
    let proxy = wrapped.get(part);
    proxy ??= new Proxy(part, {
      get(target, member, receiver) {
        reads++;
        return wrap(Reflect.get(target, member, receiver));
      },
    });
    wrapped.set(part, proxy);
    return proxy;
  };
  return { object: wrap(value) as Value, reads: () => reads };
}
