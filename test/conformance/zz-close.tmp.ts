import { test } from 'node:test'
import { createWorld, chatBody, complete, until } from '/work/main/test/support/world.ts'
import { stream, connectTo, requestText } from '/work/main/test/conformance/client.ts'
async function timed(name: string, act: (w: any) => Promise<void>) {
  test(name, async () => {
    const w = await createWorld()
    await act(w)
    const t = performance.now()
    const p = w.close()
    await Promise.race([p, new Promise(r => setTimeout(r, 4000))])
    console.log(name, Math.round(performance.now() - t))
  })
}
timed('plain', async (w) => { await stream(w, chatBody('tokens=3')) })
timed('abort', async (w) => { const c = new AbortController(); const r = await complete(w, {...chatBody('tokens=300 gap=50'), stream: true}, {signal: c.signal}); c.abort(); })
timed('abort later', async (w) => { const c = new AbortController(); const r = await complete(w, {...chatBody('tokens=300 gap=50'), stream: true}, {signal: c.signal}); c.abort(); await new Promise(r=>setTimeout(r,300)) })
timed('abort json', async (w) => { const c = new AbortController(); const r = complete(w, {...chatBody('fault=U5')}, {signal: c.signal}).catch(()=>0); await until(()=>w.simulator.openCalls()===1); c.abort(); await r; await new Promise(r=>setTimeout(r,300)) })
timed('midstream error', async (w) => { await stream(w, chatBody('tokens=9 fault=U14-rst')); await new Promise(r=>setTimeout(r,300)) })
timed('raw error', async (w) => { const c = connectTo(w); c.write(requestText(w.project, JSON.stringify(chatBody('tokens=9 fault=U14-rst', { stream: true })))); await until(()=>c.isClosed); await new Promise(r=>setTimeout(r,300)) })
timed('raw destroyed', async (w) => { const c = connectTo(w); c.write(requestText(w.project, JSON.stringify(chatBody('tokens=2', { stream: true })))); await until(()=>c.text.includes('[DONE]')); c.destroy(); await new Promise(r=>setTimeout(r,300)) })
timed('502 stream', async (w) => { await stream(w, chatBody('tokens=9 fault=U11-500')); await new Promise(r=>setTimeout(r,300)) })
timed('early 502s', async (w) => { for (const f of ['U10','U12-json','U18','U14-rst after=0', 'U17-chunk','U9-bigevent', 'U14-short','U14-close']) await stream(w, chatBody('tokens=9 fault='+f)); await new Promise(r=>setTimeout(r,300)) })
