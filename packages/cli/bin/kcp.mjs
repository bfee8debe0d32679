#!/usr/bin/env -S MALLOC_ARENA_MAX=2 node --max-semi-space-size=32
// Fewer pools of memory: one per thread that ever read the disk would each keep the most that it ever held.
// A larger nursery: what a request allocates is garbage when it is answered, and is not copied (a tenth of what a create costs).
import { programs } from "./bundle.mjs";

await programs.main(process.argv);
