/** Parts of the console that are loaded when they are first shown. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ErrorNotice, Loading } from "../elements/index.ts";

export function lazily<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  return function Lazy(props: Props) {
    const [loaded, setLoaded] = useState<{ part?: ComponentType<Props>; error?: unknown }>({});
    useEffect(() => {
      load().then(
        (part) => setLoaded({ part }),
        (error: unknown) => setLoaded({ error }),
      );
    }, []);
    if (loaded.error !== undefined) return <ErrorNotice error={loaded.error} />;
    return loaded.part === undefined ? <Loading what="this part" /> : <loaded.part {...props} />;
  };
}
