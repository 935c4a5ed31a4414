// Dynalite on a port of its own choice, which it tells.

import { createRequire } from 'node:module';

const dynalite = createRequire(process.argv[2] + '/')('dynalite');
const server = dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 });
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
