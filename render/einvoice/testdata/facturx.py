"""Writes facturx.txt from the Schematron of Factur-X in checkouts, whose names judge_test.go lists:

    python3 testdata/facturx.py CHECKOUTS facturx.txt
"""
import re,sys,xml.etree.ElementTree as ET
ns='{http://purl.oclc.org/dsdl/schematron}'
D=sys.argv[1].rstrip('/')+'/mustangproject/validator/src/main/resources/schematron/ZF_250/'
codes={l.split()[0]:frozenset(l.split()[1:]) for l in open('codes.txt') if not l.startswith('#')}
byset={v:k for k,v in codes.items()}
def sh(s): return re.sub(r'\s+',' ',s or '').replace('ram:','').replace('rsm:','').replace('udt:','').replace('qdt:','').replace('"',"'").strip()
names={}; listlines=[]
def listname(s):
    s=frozenset(s)
    if s in byset: return byset[s]
    if s in names: return names[s]
    best=min(codes,key=lambda n:len(codes[n]^s)); n=f'list{len(names)+1}'
    names[s]=n
    if len(codes[best]^s)<len(s): listlines.append(f'list {n} {best} '+' '.join(['-'+x for x in sorted(codes[best]-s)]+['+'+x for x in sorted(s-codes[best])]))
    else: listlines.append(f'list {n} - '+' '.join('+'+x for x in sorted(s)))
    return n
def steps(path):
    out=[];d=0;cur=''
    for ch in path:
        if ch in '[(': d+=1
        if ch in '])': d-=1
        if ch=='/' and d==0:
            if cur: out.append(cur)
            cur=''
        else: cur+=ch
    out.append(cur); return out
body=[]; skipped=[]
for key,p in [('minimum','MINIMUM'),('basic-wl','BASIC-WL'),('basic','BASIC'),('en16931','EN16931'),('extended','EXTENDED')]:
    t=ET.parse(D+f'FACTUR-X_{p}.sch')
    cls={cl.get('id'):[e.get('value') for e in cl.iter('enumeration')] for cl in ET.parse(D+f'FACTUR-X_{p}_codedb.xml').getroot().iter('cl')}
    tree={}  # nested: name -> (flags, children)
    def node(parts):
        cur=tree; n=None
        for s in parts:
            s=re.sub(r'\s*\[\s*','[',s); s=re.sub(r'\s*=\s*','=',s)
            n=cur.setdefault(s,([],{})); cur=n[1]
        return n
    rules=[]
    for r in t.iter(ns+'rule'):
        c=sh(r.get('context')); lets={l.get('name'):sh(l.get('value')) for l in r.findall(ns+'let')}
        for a in r:
            if a.tag not in(ns+'assert',ns+'report'): continue
            i=a.get('id') or ''; test=sh(a.get('test')); rep=a.tag.endswith('report')
            if i and not i.startswith('FX-SCH-A'): rules.append(i) if i not in('BR-17','CII-SR-470','BR-45','BR-46','BR-47','BR-48','BR-CO-03','BR-CO-17','BR-DEC-19','BR-DEC-20','BR-65','CII-SR-471','CII-SR-472') else 0; continue
            num=i[-6:].lstrip('0')
            parts=steps(c)
            m=re.match(r'^count\((.*)\)(=|<=|>=)(\d+)$',test)
            if m:
                n=node(parts+steps(m.group(1))); n[0].append(m.group(2).replace('<=','<').replace('>=','>')+m.group(3)+':'+num); continue
            m=re.match(r"^string-length\(\$(codeValue\d+)\)=0 or document\(.*\)/codedb/cl\[@id=(\d+)\]/",test)
            if m:
                v=lets[m.group(1)]; n=node(parts); n[0].append('in:'+listname(cls[m.group(2)])+('' if v=='.' else v)+':'+num); continue
            if rep and test=='true()': node(parts)[0].append('x'); continue
            m=re.match(r'^@(\w+)$',test)
            if m:
                node(parts)[0].append(('-' if rep else '+')+m.group(1)+(':'+num if num else '')); continue
            skipped.append((p,c,i,rep,test))
    body.append('profile '+key); 
    body.append('rules '+' '.join(sorted(set(rules))))
    def w(tr,d):
        for k,(f,ch) in tr.items():
            body.append(' '*d+k.replace(' ','_')+(' '+' '.join(f) if f else ''))
            w(ch,d+1)
    w(tree,0)
for s in skipped: print(s)
open(sys.argv[2],'w').write('''# The elements of the profiles of Factur-X 1.09.2 (ZUGFeRD 2.5), as data that the official rules state. A line is an element
# below the one that is less indented, with its condition ("_" is a space) and: how often it occurs ("=1:RULE" once, "<1:RULE" at most
# once, ">1:RULE" at least once), "x" if the profile does not use it, "-NAME" for an attribute that it does not use, "+NAME:RULE"
# for one that it needs, and "in:LIST:RULE" or "in:LIST@NAME:RULE" for a list of codes. RULE is the number of FX-SCH-A-NUMBER.
# "list" is a list of codes.txt with changes, and "rules" are the rules of EN 16931 that the profile has.
'''+'\n'.join(listlines+body)+'\n')
