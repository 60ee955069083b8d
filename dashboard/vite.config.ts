import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'
import { GUIDES } from './src/pages/docs/guides.ts'
import { llmsText, publishedText } from './src/pages/docs/published.ts'

/** Where `npm run dev:dashboard` finds the console's API; the defaults are those of `npm run dev`. */
const CONSOLE_URL = process.env.PARLEY_CONSOLE_URL ?? 'http://127.0.0.1:8081'

const COMPRESSIBLE = /\.(?:js|css|html|svg|json|md|txt)$/
const COMPRESS_FROM_BYTES = 1_024

// Vite reads its configuration from a default export.
export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwindcss(), preloadedFonts(), guides(), precompressed()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    // The content security policy allows no data: addresses for fonts and scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 400,
    rolldownOptions: {
      // The app, and the pages that the server fills in for everybody else. Those load nothing of it.
      input: ['index', 'front', 'status', 'ads'].map((page) => join(import.meta.dirname, `${page}.html`)),
      output: {
        // Code that every page needs is in few files: a file per icon would cost more in requests than it saves.
        codeSplitting: {
          groups: [
            { name: 'framework', test: /node_modules[\\/](?:react|react-dom|scheduler|@tanstack)[\\/]/ },
            { name: 'icons', test: /node_modules[\\/]lucide-react[\\/]/, minShareCount: 2 },
            { name: 'floating', test: /node_modules[\\/]@(?:base-ui|floating-ui)[\\/]/, minShareCount: 2 },
          ],
        },
      },
    },
  },
  server: {
    proxy: {
      '/api': { target: CONSOLE_URL, changeOrigin: true, headers: { origin: CONSOLE_URL } },
      '/openapi.json': { target: CONSOLE_URL, changeOrigin: true },
    },
  },
})

/** Text is drawn in its own face from the first frame: a face that arrives later moves every line. */
function preloadedFonts(): Plugin {
  return {
    name: 'parley:preloaded-fonts',
    transformIndexHtml: {
      order: 'post',
      handler: (_html, { bundle }) =>
        Object.keys(bundle ?? {})
          .filter((file) => file.endsWith('.woff2'))
          .map((file) => ({
            tag: 'link',
            attrs: { rel: 'preload', as: 'font', type: 'font/woff2', href: `/${file}`, crossorigin: '' },
            injectTo: 'head-prepend' as const,
          })),
    },
  }
}

const REPOSITORY = resolve(import.meta.dirname, '..')

/** The guides as plain Markdown, and the list of them: docs/ is the one place where they are written. */
function guides(): Plugin {
  const files = async (): Promise<[path: string, text: string][]> => [
    ['llms.txt', llmsText()],
    ...(await Promise.all(
      GUIDES.map(async (guide): Promise<[string, string]> => {
        const markdown = await readFile(join(REPOSITORY, guide.file), 'utf8')
        return [`docs/${guide.name}.md`, publishedText(markdown, guide)]
      }),
    )),
  ]
  return {
    name: 'parley:guides',
    async generateBundle() {
      for (const [fileName, source] of await files()) this.emitFile({ type: 'asset', fileName, source })
    },
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const answer = async () => {
          const [, text] = (await files()).find(([path]) => `/${path}` === request.url) ?? []
          if (text === undefined) return next()
          response.setHeader('content-type', 'text/plain; charset=utf-8')
          return response.end(text)
        }
        void answer()
      })
    },
  }
}

/** The server sends these files as they are: compressing once at build time costs no request anything. */
function precompressed(): Plugin {
  let folder = ''
  return {
    name: 'parley:precompressed',
    apply: 'build',
    configResolved: ({ root, build }) => {
      folder = resolve(root, build.outDir)
    },
    async closeBundle() {
      const names = await readdir(folder, { recursive: true })
      await Promise.all(names.filter((name) => COMPRESSIBLE.test(name)).map((name) => compress(join(folder, name))))
    },
  }
}

async function compress(path: string): Promise<void> {
  const bytes = await readFile(path)
  if (bytes.length < COMPRESS_FROM_BYTES) return
  await writeFile(`${path}.br`, await promisify(brotliCompress)(bytes))
  await writeFile(`${path}.gz`, await promisify(gzip)(bytes, { level: 9 }))
}
